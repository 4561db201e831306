"""Prefect tasks: retries and fan-out around one call into kernelvault each."""
