"""What outputs hold before a run, so that what no kernel wrote can be seen."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kernelvault.spec.tensor import FLOATING, Tensor


def poison_byte(dtype: str) -> int:
    """What untouched outputs hold: NaN for floats, a conspicuous value for the rest."""
    return 0xFF if dtype in FLOATING else 0xA5


def touched_elements(tensors: Iterable[Tensor]) -> int:
    """Output elements that no longer hold the poison."""
    touched = 0
    for tensor in tensors:
        raw = np.frombuffer(tensor.data.tobytes(), dtype=np.uint8)
        rows = raw.reshape(-1, tensor.data.dtype.itemsize)
        touched += int((rows != poison_byte(tensor.dtype)).any(axis=1).sum())
    return touched
