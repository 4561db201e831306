"""What runs inside the sandboxed child process of a Triton candidate."""
