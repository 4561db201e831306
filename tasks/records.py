"""Prefect sends logs and task records from background threads; see them off before it stops."""

from __future__ import annotations

from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker

LIMIT_S = 10.0


def flush_records() -> None:
    """Block until everything recorded so far has reached the server, at most 20 seconds."""
    for worker in (APILogWorker, EventsWorker):
        worker.drain_all(timeout=LIMIT_S)
