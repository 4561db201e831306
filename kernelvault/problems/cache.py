"""Reference results on disk: one folder per key, complete and checked or not there at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kernelvault.hashing import sha256_bytes
from kernelvault.problems.manifest import Manifest, StoredTensor, read_manifest
from kernelvault.spec.strict import Malformed
from kernelvault.spec.tensor import STORAGE, Tensor

_INDEX = "index.json"
_MANIFEST = "manifest.json"


class Entry:
    """An intact cache folder. Tensors are mapped, so that only what is looked at is read.

    The manifest was written beside untrusted code: raises Malformed when it is none, or when one of
    its tensors is not there in its size.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: Manifest = read_manifest((folder / _MANIFEST).read_bytes())
        for tensor in self.manifest.tensors():
            path = self._path(tensor)
            if not path.is_file() or path.stat().st_size != tensor.bytes:
                raise Malformed(f"{path.name} is missing or has not {tensor.bytes} bytes")

    def tensor(self, stored: StoredTensor) -> Tensor:
        """A tensor of the manifest."""
        storage = STORAGE[stored.dtype]
        if not stored.bytes:
            return Tensor(stored.dtype, np.zeros(stored.shape, storage))
        count = stored.bytes // storage.itemsize
        data = np.memmap(self._path(stored), dtype=storage, mode="r", shape=(count,))
        return Tensor(stored.dtype, np.asarray(data).reshape(stored.shape))

    def _path(self, stored: StoredTensor) -> Path:
        return self.folder / f"{stored.sha256}.bin"


def obtain(root: Path, key: str, make: Callable[[], Mapping[str, bytes]]) -> Entry:
    """The entry of `key`, made by `make` when it is missing or damaged.

    Other processes wait for the one that makes it. Raises Malformed for what `make` gave.
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
