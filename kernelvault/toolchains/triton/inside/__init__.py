"""What runs beside a Triton candidate in its sandbox; imports nothing of kernelvault above it."""
