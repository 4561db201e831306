"""Number formats that NumPy lacks: bfloat16 as uint16 bits, the fp8 formats as uint8 bits.

`decode` gives float32 (exact for all of them); `encode` rounds once, to nearest even or to zero.
"""

from functools import cache

import numpy as np
import torch
import triton.language as tl
from numpy.typing import NDArray

from .contract import Array, Type, refuse

FP8 = {
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}


def is_fp8(kind: Type) -> bool:
    """Is this one of Triton's 8-bit floating formats?"""
    return bool(kind.is_floating() and kind.primitive_bitwidth == 8)


def is_packed(kind: Type) -> bool:
    """Is a value of this scalar type held as bits that NumPy cannot compute with?"""
    return bool(kind == tl.bfloat16 or is_fp8(kind))


def bfloat16_to_float32(bits: Array) -> NDArray[np.float32]:
    """Widen bfloat16 bits (uint16); exact."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def float32_to_bfloat16(values: Array) -> NDArray[np.uint16]:
    """Round float32 to nearest even bfloat16 bits; a NaN stays a NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16)
    if np.isnan(values).any():
        rounded = np.where(np.isnan(values), np.uint16(0x7FC0), rounded)
    return rounded.reshape(np.shape(values))


def round_to_odd(values: Array) -> NDArray[np.float32]:
    """Round float64 to float32 so that a second rounding to a narrower format is as if direct.

    Toward zero, with the last bit set when inexact (Boldo and Melquiond, 2008).
    """
    near = values.astype(np.float32)
    bits = near.view(np.uint32)
    inexact = (near != values) & ~np.isnan(values)
    bits = np.where(inexact & (np.abs(near) > np.abs(values)), bits - 1, bits)
    return np.where(inexact, bits | 1, bits).astype(np.uint32).view(np.float32)


def round_to_tf32(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round float32 to the 10 mantissa bits that an xf32 matrix instruction keeps, nearest even."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = ((bits + (0xFFF + ((bits >> 13) & 1))) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(values), rounded, values)


@cache
def _fp8_values(name: str) -> NDArray[np.float32]:
    values = torch.arange(256, dtype=torch.uint8).view(FP8[name]).float().numpy()
    return np.asarray(values, dtype=np.float32)


def decode(bits: Array, kind: Type) -> Array:
    """Give values to compute with: float32 for packed formats, else `bits` itself."""
    if kind == tl.bfloat16:
        return bfloat16_to_float32(bits)
    if is_fp8(kind):
        if kind.name not in FP8:
            refuse("conversion", kind)
        return _fp8_values(kind.name)[bits.astype(np.uint8)]
    return bits


def _to_zero(values: Array, bits: Array, back: Array) -> Array:
    """Step sign-magnitude `bits`, which decode to `back`, toward zero where beyond `values`."""
    return np.where(np.abs(back) > np.abs(values), bits - 1, bits).astype(bits.dtype)


def _encode_fp8(values: NDArray[np.float32], kind: Type, to_zero: bool) -> NDArray[np.uint8]:
    if kind.name not in FP8:
        refuse("conversion", kind)
    largest = torch.finfo(FP8[kind.name]).max
    if (np.abs(values) > largest).any():
        refuse("conversion", kind, f"targets differ on values beyond {largest}")
    packed = torch.from_numpy(np.ascontiguousarray(values)).to(FP8[kind.name])
    bits: NDArray[np.uint8] = packed.view(torch.uint8).numpy().reshape(values.shape)
    return _to_zero(values, bits, decode(bits, kind)) if to_zero else bits


def encode(values: Array, kind: Type, to_zero: bool = False) -> Array:
    """Round floating `values` (float16, float32 or float64) to the floating format `kind`, once."""
    if kind == tl.float64:
        return values.astype(np.float64)
    if kind in (tl.float32, tl.float16):
        near = values.astype(np.float32 if kind == tl.float32 else np.float16)
        if not to_zero:
            return near
        bits = near.view(np.uint32 if kind == tl.float32 else np.uint16)
        return _to_zero(values, bits, near).view(near.dtype)
    single = round_to_odd(values) if values.dtype == np.float64 else values.astype(np.float32)
    if kind == tl.bfloat16:
        if to_zero:
            single_bits = np.ascontiguousarray(single).view(np.uint32)
            cut = (single_bits >> 16).astype(np.uint16)
            return np.where(np.isnan(single), np.uint16(0x7FC0), cut)
        return float32_to_bfloat16(single)
    return _encode_fp8(single, kind, to_zero)
