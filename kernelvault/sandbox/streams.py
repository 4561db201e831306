"""Reads the two streams of a running sandbox with byte caps and a deadline."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass

_CHUNK = 1 << 16
_GRACE_S = 0.5


@dataclass(frozen=True, slots=True)
class Stream:
    """A file descriptor to read, how much of it to keep, and the ending that overflowing means."""

    fd: int
    max_bytes: int
    overflow: str


def drain(
    log: Stream,
    archive: Stream,
    deadline: float,
    finished: Callable[[], bool],
    watch: Callable[[], str | None],
    interval_s: float = 0.25,
) -> tuple[bytes, bytes, str | None]:
    """(log, archive, why it was stopped). None: both streams ended by themselves.

    `watch` is polled and may name an ending; `finished` says that the process has gone, after which
    a stream that a leftover still holds open is given up.
    """
    buffers = {log: bytearray(), archive: bytearray()}
    live = [log, archive]
    gone_since: float | None = None
    why: str | None = None
    while live and why is None:
        left = deadline - time.monotonic()
        if left <= 0:
            why = "timeout"
            break
        ready, _, _ = select.select([s.fd for s in live], [], [], min(interval_s, left))
        why = watch()
        for stream in [s for s in live if s.fd in ready]:
            data = os.read(stream.fd, _CHUNK)
            buffers[stream] += data
            if not data:
                live.remove(stream)
            elif len(buffers[stream]) > stream.max_bytes:
                del buffers[stream][stream.max_bytes :]
                why = stream.overflow
        if not ready and finished():
            gone_since = gone_since or time.monotonic()
            if time.monotonic() - gone_since > _GRACE_S:
                break
    return bytes(buffers[log]), bytes(buffers[archive]), why
