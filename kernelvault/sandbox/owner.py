"""Whose a leftover is: supervisors are told apart by pid namespace, process id and start time."""

from __future__ import annotations

import os
import re
from pathlib import Path

_IDENTITY = re.compile(r"(\d+)\.(\d+)\.(\d+)(?=-|$)", re.ASCII)


def identity(pid: int | None = None) -> str:
    """`namespace.pid.start time` of a process here, by default this one: never used twice.

    Raises OSError when there is no such process.
    """
    number = os.getpid() if pid is None else pid
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return f"{_namespace()}.{number}.{fields[19]}"


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def lives(name: str) -> bool:
    """Whether the supervisor with whose identity `name` begins still runs.

    What belongs to nobody we know, or to another pid namespace (a container that shares this
    folder), counts as alive, so is left alone.
    """
    found = _IDENTITY.match(name)
    if found is None or int(found[1]) != _namespace():
        return True
    try:
        return identity(int(found[2])) == found[0]
    except OSError:
        return False
