"""Reference results on disk: one folder per key, complete and checked or not there at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kernelvault.hashing import sha256_bytes
from kernelvault.spec.tensor import STORAGE, Tensor

_INDEX = "index.json"
_MANIFEST = "manifest.json"


class Entry:
    """An intact cache folder. Tensors are mapped, so that only what is looked at is read.

    The manifest was written beside untrusted code: `check` it before its tensors are used.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_bytes())

    def check(self) -> None:
        """Raises ValueError, KeyError or TypeError unless every tensor is there and well-formed."""
        fixed = list(self.manifest["fixed"])
        inputs, outputs = (len(self.manifest["signature"][k]) for k in ("inputs", "outputs"))
        for workload in self.manifest["workloads"]:
            if len(workload["users"]) + len(fixed) != inputs:
                raise ValueError("a workload has not as many inputs as the signature")
            if not len(workload["native"]) == len(workload["wide"]) == outputs:
                raise ValueError("a workload has not as many outputs as the signature")
            for entry in [*fixed, *workload["users"], *workload["native"], *workload["wide"]]:
                self._check_tensor(entry)

    def _check_tensor(self, entry: Mapping[str, Any]) -> None:
        # A name that is no digest could lead out of the folder.
        if not re.fullmatch(r"[0-9a-f]{64}", entry["sha256"]):
            raise ValueError(f"a tensor is called {entry['sha256']!r}")
        needed = math.prod(entry["shape"]) * STORAGE[entry["dtype"]].itemsize
        path = self.folder / f"{entry['sha256']}.bin"
        if entry["bytes"] != needed or not path.is_file() or path.stat().st_size != needed:
            raise ValueError(f"a tensor of shape {entry['shape']} has {entry['bytes']} bytes")

    def tensor(self, entry: Mapping[str, Any]) -> Tensor:
        """The tensor of a manifest entry."""
        storage = STORAGE[entry["dtype"]]
        shape = tuple(entry["shape"])
        if not entry["bytes"]:
            return Tensor(entry["dtype"], np.zeros(shape, storage))
        path = self.folder / f"{entry['sha256']}.bin"
        count = entry["bytes"] // storage.itemsize
        data = np.memmap(path, dtype=storage, mode="r", shape=(count,))
        return Tensor(entry["dtype"], np.asarray(data).reshape(shape))


def obtain(root: Path, key: str, make: Callable[[], Mapping[str, bytes]]) -> Entry:
    """The entry of `key`, made by `make` when it is missing or damaged.

    Other processes wait for the one that makes it.
    """
    folder = root / key
    root.mkdir(parents=True, exist_ok=True)
    with _lock(root / f"{key}.lock"):
        if not _intact(folder):
            shutil.rmtree(folder, ignore_errors=True)
            _write(root, folder, make())
    return Entry(folder)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(root: Path, folder: Path, files: Mapping[str, bytes]) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=".making-", dir=root))
    try:
        for name, data in files.items():
            (temporary / name).write_bytes(data)
        index = {name: [len(data), sha256_bytes(data)] for name, data in files.items()}
        (temporary / _INDEX).write_text(json.dumps(index))
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _intact(folder: Path) -> bool:
    try:
        index = json.loads((folder / _INDEX).read_bytes())
        for name, (size, digest) in index.items():
            path = folder / name
            if path.stat().st_size != size or _digest(path) != digest:
                return False
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    return _MANIFEST in index


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
