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


def _holders() -> dict[str, np.dtype[np.generic]]:
    names = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    held = {name: np.dtype(name) for name in names} | {"int1": np.dtype(np.bool_)}
    held |= {"fp16": np.dtype("float16"), "fp32": np.dtype("float32"), "fp64": np.dtype("float64")}
    bits = dict.fromkeys(("fp8e5", "fp8e5b16", "fp8e4nv", "fp8e4b8", "fp8e4b15"), np.dtype("uint8"))
    return held | bits | {"bf16": np.dtype("uint16")}


_HOLDERS = _holders()
_ADDRESS = np.dtype(np.uint64)


def holder(kind: Type) -> np.dtype[np.generic]:
    """The NumPy dtype that holds values, bits or addresses of `kind`."""
    return _HOLDERS.get(kind.scalar.name, _ADDRESS)


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
