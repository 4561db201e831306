"""Tensors as they cross process borders: a dtype name, a shape, strides and plain bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# dtype name -> NumPy storage dtype. bfloat16 is stored as its bits, NumPy has no such type.
STORAGE: dict[str, np.dtype[Any]] = {
    "float64": np.dtype("<f8"),
    "float32": np.dtype("<f4"),
    "float16": np.dtype("<f2"),
    "bfloat16": np.dtype("<u2"),
    "int64": np.dtype("<i8"),
    "int32": np.dtype("<i4"),
    "int16": np.dtype("<i2"),
    "int8": np.dtype("i1"),
    "uint8": np.dtype("u1"),
    "bool": np.dtype("u1"),
}
FLOATING = frozenset({"float64", "float32", "float16", "bfloat16"})


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A dense, row-major tensor. `data` is read-only, of dtype `STORAGE[dtype]` and of `shape`."""

    dtype: str
    data: npt.NDArray[Any]

    def __post_init__(self) -> None:
        storage = STORAGE.get(self.dtype)
        if storage is None:
            raise ValueError(f"unknown dtype {self.dtype!r}; known: {', '.join(STORAGE)}")
        if self.data.dtype != storage:
            raise ValueError(f"{self.dtype} is stored as {storage}, got {self.data.dtype}")
        # ascontiguousarray would turn a 0-d array into shape (1,).
        dense = np.asarray(self.data, order="C").view()
        dense.flags.writeable = False
        object.__setattr__(self, "data", dense)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes)

    @property
    def is_floating(self) -> bool:
        return self.dtype in FLOATING

    def as_float64(self) -> npt.NDArray[np.float64]:
        """The values in float64, exact for every floating dtype and for integers below 2**53."""
        if self.dtype == "bfloat16":
            widened = (self.data.astype(np.uint32) << 16).view(np.float32)
            return widened.astype(np.float64)
        return self.data.astype(np.float64)


def from_bytes(dtype: str, shape: tuple[int, ...], raw: bytes) -> Tensor:
    """Read a dense row-major tensor; raises ValueError when the byte count does not match."""
    storage = STORAGE[dtype]
    expected = int(np.prod(shape, dtype=np.int64)) * storage.itemsize
    if len(raw) != expected:
        raise ValueError(f"{dtype}{list(shape)} needs {expected} bytes, got {len(raw)}")
    return Tensor(dtype, np.frombuffer(raw, dtype=storage).reshape(shape))
