"""Prefect flows: order and fan-out only."""
