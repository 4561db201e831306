"""Removes what supervisors that were killed have left: folders and control groups."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from kernelvault.sandbox import cgroup
from kernelvault.sandbox.owner import lives
from kernelvault.sandbox.setup import PREFIX


def reap() -> int:
    """Remove the leftovers of supervisors that no longer run; how many there were.

    Containers are the business of the docker backend, which finds its own by their labels.
    """
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        ours = folder.is_dir() and not folder.is_symlink()
        if ours and not lives(folder.name.removeprefix(PREFIX)):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    for group in cgroup.leftovers():
        if not lives(group.name):
            removed += cgroup.remove(group)
    return removed
