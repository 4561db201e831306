"""Progress of a run, told to whoever listens; nobody by default."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kernelvault.cli.contract import Listener, Progress

# A context variable reaches the threads Prefect runs tasks in, which a flow parameter (it must be
# JSON) could not.
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send all progress reported inside to `listener`, possibly from several threads."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(stage: str, done: int, total: int, label: str = "") -> None:
    """Tell the listener, if any."""
    if listener := _listener.get():
        listener(Progress(stage, done, total, label))
