"""Guarded host memory for the interpreter: every tensor a kernel may touch has a known extent, and
what was allocated and not written holds poison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

# Room on both sides of every allocation, so that a small overrun cannot reach another tensor.
_GUARD = 4096
_ALIGN = 256


class OutOfBoundsError(Exception):
    """A kernel accessed memory that belongs to none of its arguments."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes [start, end) of one allocation, and what to call it."""

    start: int
    end: int
    label: str


class Arena:
    """Allocates guarded tensors. While `poison_all` is set, filled allocations hold poison too."""

    def __init__(self) -> None:
        self.poison_all = False
        self._known: dict[int, Extent] = {}
        self._kept: list[npt.NDArray[np.uint8]] = []

    def forget(self) -> None:
        """Give up everything allocated so far; until then no address is used twice."""
        self._known.clear()
        self._kept.clear()

    def place(self, tensor: torch.Tensor, label: str) -> torch.Tensor:
        """A guarded copy of a dense tensor."""
        placed = self._new(tensor.shape, tensor.dtype, tensor.stride(), label)
        placed.copy_(tensor)
        return placed

    def allocate(self, kind: str, make: Callable[[], torch.Tensor]) -> torch.Tensor:
        """A guarded tensor like the one `make` gives: with its values when `kind` is `filled`."""
        model = make()
        placed = self._new(model.shape, model.dtype, model.stride(), "an allocation")
        if kind == "filled" and not self.poison_all:
            placed.copy_(model)
        return placed

    def extents(self, arguments: Sequence[Any]) -> list[Extent]:
        """Extents of the tensors among a launch's arguments."""
        found = []
        for value in arguments:
            if isinstance(value, tuple | list):
                found += self.extents(value)
            elif isinstance(base := getattr(value, "base", value), torch.Tensor):
                storage = base.untyped_storage()
                start = storage.data_ptr()
                whole = Extent(start, start + storage.nbytes(), "a tensor")
                found.append(self._known.get(start, whole))
        return found

    def _new(
        self, shape: Sequence[int], dtype: torch.dtype, stride: Sequence[int], label: str
    ) -> torch.Tensor:
        size = dtype.itemsize
        reach = 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
        count = 0 if 0 in shape else reach
        buffer = np.full(
            count * size + 2 * _GUARD + _ALIGN,
            0xFF if dtype.is_floating_point else 0xA5,
            dtype=np.uint8,
        )
        start = -(-(buffer.ctypes.data + _GUARD) // _ALIGN) * _ALIGN - buffer.ctypes.data
        # A storage of its own, so that offsets into it count from the tensor's first byte.
        typed = torch.from_numpy(buffer[start : start + count * size]).view(dtype)
        self._kept.append(buffer)
        begin = buffer.ctypes.data + start
        self._known[begin] = Extent(begin, begin + count * size, label)
        return torch.as_strided(typed, tuple(shape), tuple(stride), 0)


class Bounds:
    """The interpreter's guard: addresses must lie in the arguments of the running launch."""

    def __init__(self) -> None:
        self._starts: npt.NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._ends = self._starts
        self._labels: list[str] = []
        self.kernel = ""
        self.violations: list[str] = []

    def set(self, kernel: str, extents: Sequence[Extent]) -> None:
        """Allow exactly `extents` from now on."""
        ordered = sorted(set(extents), key=lambda extent: (extent.start, extent.end))
        self._starts = np.array([e.start for e in ordered], dtype=np.uint64)
        self._ends = np.array([e.end for e in ordered], dtype=np.uint64)
        self._labels = [e.label for e in ordered]
        self.kernel = kernel

    def check(
        self,
        addresses: npt.NDArray[np.uint64],
        itemsize: int,
        mask: npt.NDArray[np.bool_],
        access: str,
    ) -> None:
        """Raise OutOfBoundsError when an active address is outside every extent."""
        active = addresses if mask.all() else addresses[mask]
        if active.size == 0:
            return
        first, last = int(active.min()), int(active.max())
        place = int(np.searchsorted(self._starts, first, side="right")) - 1
        if place >= 0 and last + itemsize <= self._ends[place]:
            return
        places = np.searchsorted(self._starts, active, side="right").astype(np.int64) - 1
        ends = self._ends[np.maximum(places, 0)] if self._ends.size else np.zeros_like(active)
        wrong = (places < 0) | (active + np.uint64(itemsize) > ends)
        if wrong.any():
            self._refuse(int(active[wrong][0]), itemsize, int(wrong.sum()), access)

    def _refuse(self, address: int, itemsize: int, count: int, access: str) -> None:
        where = "outside all of its arguments"
        if self._starts.size:
            gaps = [
                (
                    start - address if address < start else address + itemsize - end,
                    label,
                    start,
                    end,
                )
                for start, end, label in zip(
                    map(int, self._starts), map(int, self._ends), self._labels, strict=True
                )
            ]
            gap, label, start, _ = min(gaps)
            side = "before the start" if address < start else "past the end"
            where = f"{gap} bytes {side} of {label}"
        text = f"{self.kernel}: {access} of {count} elements out of bounds, the first {where}"
        self.violations.append(text)
        raise OutOfBoundsError(text)
