"""What Python in a sandbox needs to see: the interpreter, its libraries, our own files."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path

import kernelvault
from kernelvault.sandbox.contract import Mount

PACKAGE = Path(kernelvault.__file__).parent


@cache
def python_mounts(
    own: tuple[Path, ...], libraries: tuple[str, ...] = ("torch",)
) -> tuple[Mount, ...]:
    """Mounts at their own paths of this interpreter, of where `libraries` are installed, and of
    `own`: files and folders of kernelvault, the `__init__.py` of every package above included."""
    found = [Path(sys.base_prefix), Path(sys.prefix)]
    for name in libraries:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            found.append(Path(spec.origin).parent.parent)
    for path in own:
        above = [parent for parent in path.parents if parent.is_relative_to(PACKAGE)]
        found += [parent / "__init__.py" for parent in reversed(above)]
        found.append(path)
    chosen: list[Path] = []
    for path in found:
        if not any(path.is_relative_to(other) for other in (*chosen, Path("/usr"))):
            chosen.append(path)
    return tuple(Mount(path) for path in chosen)


def import_path() -> str:
    """PYTHONPATH that makes `own` importable as parts of kernelvault."""
    return str(PACKAGE.parent)


def interpreter() -> Path:
    """This interpreter by a path without `..`, whose folders a sandbox may not have."""
    return Path(os.path.normpath(sys.executable))
