"""Matrix products and the other whole-block operations."""

from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

from .contract import Array, Handle, refuse
from .formats import FP8, decode, encode, is_fp8, round_to_tf32
from .values import handle, numbers, rounded

# Products of bfloat16 parts, largest first, that stand for one product of float32.
SPLIT = {
    ir.INPUT_PRECISION.BF16x3: ((0, 0), (0, 1), (1, 0)),
    ir.INPUT_PRECISION.BF16x6: ((0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0)),
}


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


def _parts(values: Array) -> list[Array]:
    """Three bfloat16 numbers, as float32, whose sum is close to each value."""
    parts = []
    for _ in range(3):
        parts.append(decode(encode(values, tl.bfloat16), tl.bfloat16))
        values = values - parts[-1]
    return parts


def dot(xf32: bool) -> Any:
    """`tl.dot`, accumulating in float32 (float64, int32); rounded to the accumulator's type.

    With `xf32`, float32 operands of precision `tf32` keep 10 mantissa bits, as gfx942's do.
    """

    def method(self: Any, a: Handle, b: Handle, acc: Handle, precision: Any, *o: Any) -> Handle:
        left, right = _operand(a, precision, xf32), _operand(b, precision, xf32)
        if a.dtype.scalar == tl.float32 and precision in SPLIT:
            upper, lower = _parts(left), _parts(right)
            product = sum(np.matmul(upper[i], lower[j]) for i, j in reversed(SPLIT[precision]))
        else:
            product = np.matmul(left, right)
        if a.dtype.scalar.is_int():
            return handle(product.astype(np.int64).astype(np.int32) + acc.data, acc.dtype)
        return rounded(product + numbers(acc), acc.dtype)

    return method


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=np.float32)
GROUP = 32  # elements along K that share an e8m0 scale


def _microscaled(value: Handle, scale: Handle | None, style: Any, packed_k: bool) -> Array:
    """The left operand's values, [.., M, K], times their scales, [.., M, K / 32]."""
    if style == ir.ScaleDotElemTypeTY.E2M1:
        if not packed_k:
            refuse("dot_scaled", "e2m1", "packed along another dimension than K")
        nibbles = np.stack([value.data & 15, value.data >> 4], axis=-1)
        nibbles = nibbles.reshape(*value.data.shape[:-1], -1)
        data: Array = np.where(nibbles & 8, -FP4[nibbles & 7], FP4[nibbles & 7])
    elif style == ir.ScaleDotElemTypeTY.FP16:
        refuse("dot_scaled", "fp16", "targets widen the other operand differently")
    else:
        data = numbers(value)
    if scale is None:
        return data
    if scale.dtype.scalar not in (tl.uint8, tl.int8):
        refuse("dot_scaled", scale.dtype, "a scale that is not e8m0")
    exponent = scale.data.view(np.uint8)
    factor = np.where(exponent == 255, np.nan, np.exp2(exponent.astype(np.float64) - 127))
    return np.asarray(data * np.repeat(factor, GROUP, axis=-1), dtype=np.float32)


def _transposed(value: Handle) -> Handle:
    return handle(np.swapaxes(value.data, -1, -2), value.dtype)


def _dot_scaled(
    self: Any, a: Handle, a_scale: Handle | None, a_style: Any,
    b: Handle, b_scale: Handle | None, b_style: Any,
    fast_math: bool, a_packed_k: bool, b_packed_k: bool, acc: Handle,
) -> Handle:  # fmt: skip
    left = _microscaled(a, a_scale, a_style, a_packed_k)
    right = np.swapaxes(_microscaled(_transposed(b), b_scale, b_style, b_packed_k), -1, -2)
    return rounded(np.matmul(left, right) + acc.data, acc.dtype)


def _histogram(self: Any, data: Handle, bins: int, mask: Handle | None) -> Handle:
    values = data.data if mask is None else data.data[mask.data]
    inside = values[(values >= 0) & (values < bins)].astype(np.int64)
    return handle(np.bincount(inside, minlength=bins).astype(np.int32), tl.int32)


METHODS: dict[str, Any] = {"create_dot_scaled": _dot_scaled, "create_histogram": _histogram}
