"""Conversions between all types, as the AMD backend does them."""

from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

from .contract import Array, Handle, Type
from .formats import encode
from .values import SIGNED, handle, holder, numbers


def _saturate(values: Array, dtype: np.dtype[Any]) -> Array:
    """Float to integer as `v_cvt` does: toward zero, ends of the range kept, NaN becomes 0.

    Integers narrower than 32 bits are cut from the 32-bit result.
    """
    wide = dtype if dtype.itemsize >= 4 else np.dtype(np.int32)
    info = np.iinfo(wide)
    whole = np.trunc(values.astype(np.float64, copy=False))
    low, high = float(info.min), float(info.max)
    inside = (whole >= low) & (whole < high)
    if inside.all():
        return whole.astype(wide).astype(dtype)
    cut = np.where(inside, whole, 0.0).astype(wide)
    cut = np.where(whole >= high, np.array(info.max, dtype=wide), cut)
    cut = np.where(whole < low, np.array(info.min, dtype=wide), cut)
    return cut.astype(dtype)


def _to_floating(data: Array, kind: Type, want: Type, to_zero: bool) -> Array:
    if kind.is_floating() or want == tl.float64:
        return encode(data, want, to_zero)
    # integers: straight to float32; the AMD backend goes through float32 for narrower formats
    return encode(data.astype(np.float32), want)


def convert(source: Handle, target: Type, to_zero: bool = False) -> Handle:
    """Convert a value to scalar type `target`, rounding once (to nearest even or to zero)."""
    kind, want = source.dtype.scalar, target.scalar
    if kind == want:
        return source
    data = numbers(source)
    if want.is_floating():
        return handle(_to_floating(data, kind, want, to_zero), want)
    if want == tl.int1:
        return handle(data != 0, want)
    if kind.is_floating():
        return handle(_saturate(data, holder(want)), want)
    return handle(data.astype(holder(want)), want)


def _cast(self: Any, source: Handle, target: Type) -> Handle:
    return convert(source, target)


def _int_cast(self: Any, source: Handle, target: Type, is_signed: bool) -> Handle:
    data = source.data
    if data.dtype == np.bool_:
        return handle(data.astype(holder(target)), target)
    if is_signed and data.dtype.kind == "u":
        data = data.view(SIGNED[data.dtype.itemsize])
    return handle(data.astype(holder(target)), target)


def _fp_to_fp(self: Any, source: Handle, target: Type, rounding: Any) -> Handle:
    return convert(source, target, to_zero=rounding == ir.ROUNDING_MODE.RTZ)


def _bitcast(self: Any, source: Handle, target: Type) -> Handle:
    return handle(np.ascontiguousarray(source.data).view(holder(target)), target)


def _constant(kind: Type) -> Any:
    def get(self: Any, value: float) -> Handle:
        return handle(encode(np.array([value], dtype=np.float64), kind), kind)

    return get


def _ones(self: Any, kind: Type) -> Handle:
    dtype = holder(kind)
    return handle(np.ones(1, dtype) if dtype == np.bool_ else ~np.zeros(1, dtype), kind)


METHODS: dict[str, Any] = {
    "cast_impl": _cast,
    **dict.fromkeys(
        ("create_si_to_fp", "create_ui_to_fp", "create_fp_to_si", "create_fp_to_ui",
         "create_fp_ext", "create_fp_trunc"), _cast),
    "create_int_cast": _int_cast,
    "create_fp_to_fp": _fp_to_fp,
    **dict.fromkeys(("create_bitcast", "create_int_to_ptr", "create_ptr_to_int"), _bitcast),
    "get_bf16": _constant(tl.bfloat16),
    "get_fp16": _constant(tl.float16),
    "get_fp32": _constant(tl.float32),
    "get_all_ones_value": _ones,
}  # fmt: skip
