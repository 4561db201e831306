"""Numerical comparison of one output with its expectation, in chunks of bounded memory.

The allowed error of an element with float64 expectation e is
`rtol * |e| + atol_scale * max|e| + torch_factor * max|torch - e|` (see `spec.preset.Tolerance`):
a kernel may err as far as PyTorch itself does on the same workload, times a small factor, however
long the reduction. Integers and booleans must be equal. NaN and infinities must match in place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelvault.spec.preset import Tolerance
from kernelvault.spec.tensor import Tensor

Array = npt.NDArray[Any]

CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing one output found. Errors are over finite elements; indices are tuples."""

    elements: int
    mismatches: int
    nonfinite_mismatches: int
    max_abs_error: float
    max_rel_error: float
    allowed_abs: float
    rtol: float
    torch_max_abs_error: float
    first: dict[str, Any] | None
    worst: dict[str, Any] | None

    def evidence(self, index: int) -> dict[str, Any]:
        """The JSON form stored with a verdict."""
        return {
            "index": index,
            "elements": self.elements,
            "mismatches": self.mismatches,
            "nonfinite_mismatches": self.nonfinite_mismatches,
            "max_abs_error": _finite(self.max_abs_error),
            "max_rel_error": _finite(self.max_rel_error),
            "allowed_abs": self.allowed_abs,
            "rtol": self.rtol,
            "torch_max_abs_error": self.torch_max_abs_error,
            "first": self.first,
            "worst": self.worst,
        }


def compare(actual: Tensor, wide: Array, native: Tensor, tolerance: Tolerance) -> Comparison:
    """Compare `actual` with the float64 (or exact integer) expectation `wide`.

    `native` is PyTorch's own result in the output's dtype; all three have one shape.
    Raises ValueError when shapes or dtypes differ, which is the caller's mistake.
    """
    if not (actual.shape == tuple(wide.shape) == native.shape) or actual.dtype != native.dtype:
        raise ValueError(f"{actual.dtype}{actual.shape} against {native.dtype}{wide.shape}")
    if not actual.is_floating:
        return _compare_exact(actual, native)
    scale, torch_error = _magnitudes(wide, native)
    allowed_abs = tolerance.atol_scale * scale + tolerance.torch_factor * torch_error
    return _compare_floating(actual, wide, native, tolerance.rtol, allowed_abs, torch_error)


def _compare_exact(actual: Tensor, native: Tensor) -> Comparison:
    got, want = actual.data.reshape(-1), native.data.reshape(-1)
    wrong = np.flatnonzero(got != want)
    first = (
        _location(actual, native.as_float64().reshape(-1), int(wrong[0])) if len(wrong) else None
    )
    return Comparison(got.size, len(wrong), 0, 0.0, 0.0, 0.0, 0.0, 0.0, first, first)


def _chunks(actual: Tensor | None, wide: Array, native: Tensor) -> Iterator[tuple[int, Any]]:
    """(offset, (actual, expectation)) in float64; the expectation follows PyTorch's own infinities
    and NaN, so that a float16 overflow the reference shares is no error."""
    flat_wide, flat_native = wide.reshape(-1), native.data.reshape(-1)
    flat_actual = actual.data.reshape(-1) if actual is not None else None
    for start in range(0, flat_wide.size, CHUNK):
        stop = start + CHUNK
        own = Tensor(native.dtype, flat_native[start:stop]).as_float64()
        exact = flat_wide[start:stop].astype(np.float64)
        expected = np.where(np.isfinite(own) & np.isfinite(exact), exact, own)
        got = None
        if actual is not None and flat_actual is not None:
            got = Tensor(actual.dtype, flat_actual[start:stop]).as_float64()
        yield start, (got, expected, own)


def _magnitudes(wide: Array, native: Tensor) -> tuple[float, float]:
    scale = error = 0.0
    for _, (_, expected, own) in _chunks(None, wide, native):
        finite = np.isfinite(expected) & np.isfinite(own)
        if finite.any():
            scale = max(scale, float(np.abs(expected[finite]).max()))
            error = max(error, float(np.abs(own[finite] - expected[finite]).max()))
    return scale, error


def _compare_floating(
    actual: Tensor, wide: Array, native: Tensor, rtol: float, allowed_abs: float, torch_error: float
) -> Comparison:
    mismatches = nonfinite = 0
    max_abs = max_rel = 0.0
    worst_excess = -math.inf
    first = worst = None
    for start, (got, expected, _) in _chunks(actual, wide, native):
        finite = np.isfinite(got) & np.isfinite(expected)
        same_special = np.isnan(got) & np.isnan(expected) | (got == expected)
        error = np.zeros_like(expected)
        np.subtract(got, expected, out=error, where=finite)
        np.abs(error, out=error)
        allowed = allowed_abs + rtol * np.where(finite, np.abs(expected), 0.0)
        wrong = np.where(finite, error > allowed, ~same_special)
        mismatches += int(np.count_nonzero(wrong))
        nonfinite += int(np.count_nonzero(wrong & ~finite))
        if finite.any():
            max_abs = max(max_abs, float(error.max()))
            nonzero = finite & (expected != 0)
            if nonzero.any():
                max_rel = max(max_rel, float((error[nonzero] / np.abs(expected[nonzero])).max()))
        if wrong.any():
            excess = np.where(finite, error - allowed, np.where(wrong, np.inf, -np.inf))
            here = int(np.argmax(excess))
            if first is None:
                at = int(np.argmax(wrong))
                first = _location(actual, expected, at, start)
            if float(excess[here]) > worst_excess:
                worst_excess = float(excess[here])
                worst = _location(actual, expected, here, start)
    return Comparison(
        actual.data.size, mismatches, nonfinite, max_abs, max_rel, allowed_abs, rtol, torch_error,
        first, worst,
    )  # fmt: skip


def _location(actual: Tensor, expected: Array, at: int, start: int = 0) -> dict[str, Any]:
    flat = start + at
    got = Tensor(actual.dtype, actual.data.reshape(-1)[flat : flat + 1]).as_float64()[0]
    where = np.unravel_index(flat, actual.shape) if actual.shape else ()
    return {
        "at": [int(i) for i in where],
        "expected": _finite(float(expected[at])),
        "actual": _finite(float(got)),
    }


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
