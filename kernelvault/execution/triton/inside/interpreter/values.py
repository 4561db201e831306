"""Handles of the interpreter: NumPy data with a Triton scalar or pointer type."""

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from .contract import Array, Handle, Type
from .formats import decode, encode, is_packed

SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def handle(data: Array, kind: Type) -> Handle:
    """Wrap `data`, whose dtype must be the one that holds `kind`."""
    return interpreter.TensorHandle(data, kind.scalar)


def holder(kind: Type) -> np.dtype[np.generic]:
    """The NumPy dtype that holds values or bits of `kind`."""
    dtype: np.dtype[np.generic] = interpreter._get_np_dtype(kind.scalar)
    return dtype


def numbers(value: Handle) -> Array:
    """The data of `value` to compute with: float32 for bfloat16 and fp8."""
    return decode(value.data, value.dtype.scalar)


def rounded(data: Array, kind: Type) -> Handle:
    """Wrap a computed array as `kind`, rounded once where its dtype is wider."""
    kind = kind.scalar
    if is_packed(kind):
        return handle(encode(data, kind), kind)
    return handle(data.astype(holder(kind), copy=False), kind)


def truth(data: Array) -> Handle:
    """Wrap booleans."""
    return handle(data, tl.int1)


def unsigned(data: Array) -> Array:
    """The same bits as unsigned integers."""
    return data.view(UNSIGNED[data.dtype.itemsize]) if data.dtype.kind != "u" else data


def tensor(data: Array, kind: Type) -> Handle:
    """A language tensor: a block of `data`'s shape, or a scalar when `data` has no dimension."""
    if data.ndim == 0:
        return tl.tensor(handle(data.reshape(1), kind), kind)
    return tl.tensor(handle(data, kind), tl.block_type(kind, list(data.shape)))
