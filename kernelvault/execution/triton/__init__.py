"""Executing Triton candidates on the CPU."""
