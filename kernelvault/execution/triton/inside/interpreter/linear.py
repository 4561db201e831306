"""Matrix products and the other whole-block operations."""

from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

from .contract import Array, Handle, refuse
from .formats import FP8, is_fp8, round_to_tf32
from .values import handle, numbers, rounded

SPLIT = {"BF16x3", "BF16x6"}


def _operand(value: Handle, precision: Any, xf32: bool) -> Array:
    """Values as the matrix unit reads them: float32, or float64 for integers and float64."""
    kind = value.dtype.scalar
    if is_fp8(kind) and kind.name not in FP8:
        refuse("dot", kind)
    data = numbers(value)
    if kind.is_int():
        return data.astype(np.float64)  # exact: products of 8-bit integers, any block's length
    if kind == tl.float32 and xf32 and precision == ir.INPUT_PRECISION.TF32:
        return round_to_tf32(data)
    return data if kind == tl.float64 else data.astype(np.float32)


def dot(xf32: bool) -> Any:
    """`tl.dot`, accumulating in float32 (float64, int32); rounded to the accumulator's type.

    With `xf32`, float32 operands of precision `tf32` keep 10 mantissa bits, as gfx942's do.
    """

    def method(self: Any, a: Handle, b: Handle, acc: Handle, precision: Any, *o: Any) -> Handle:
        left, right = _operand(a, precision, xf32), _operand(b, precision, xf32)
        product = np.matmul(left, right)
        if a.dtype.scalar.is_int():
            return handle(product.astype(np.int64).astype(np.int32) + acc.data, acc.dtype)
        return rounded(product + numbers(acc), acc.dtype)

    return method


def _dot_scaled(self: Any, a: Handle, *rest: Any) -> Handle:
    refuse("dot_scaled", a.dtype)


def _histogram(self: Any, data: Handle, bins: int, mask: Handle | None) -> Handle:
    values = data.data if mask is None else data.data[mask.data]
    inside = values[(values >= 0) & (values < bins)].astype(np.int64)
    return handle(np.bincount(inside, minlength=bins).astype(np.int32), tl.int32)


METHODS: dict[str, Any] = {"create_dot_scaled": _dot_scaled, "create_histogram": _histogram}
