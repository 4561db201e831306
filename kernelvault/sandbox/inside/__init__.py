"""What runs beside the task in a sandbox: a folder that Python runs as a program."""
