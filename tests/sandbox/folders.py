"""Folders for tests: one of their own in the place of `/tmp`, and what lies in it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelvault.sandbox.setup import PREFIX


@contextmanager
def own_tmp(parent: Path | None = None) -> Iterator[Path]:
    """A folder that any user may write, which everything here takes for `/tmp` meanwhile."""
    before = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="kvt-", dir=parent))
    folder.chmod(0o1777)
    tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def sandboxes_in(folder: Path) -> list[str]:
    """The folders of sandboxes there."""
    return sorted(path.name for path in folder.glob(f"{PREFIX}*"))


def soon(holds: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether something comes to hold within the time."""
    deadline = time.monotonic() + seconds
    while not (held := bool(holds())) and time.monotonic() < deadline:
        time.sleep(0.02)
    return held
