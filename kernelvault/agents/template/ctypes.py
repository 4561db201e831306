"""dtypes in generated code: what memory holds and what arithmetic is done in."""

from __future__ import annotations

from kernelvault.agents.template.dims import UnsupportedError

_STORAGE = {
    "float64": "double",
    "float32": "float",
    "float16": "__half",
    "bfloat16": "__hip_bfloat16",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "bool",
}
_TO_FLOAT = {"float16": "__half2float", "bfloat16": "__bfloat162float"}
_FROM_FLOAT = {"float16": "__float2half", "bfloat16": "__float2bfloat16"}
HEADERS = {"float16": "hip/hip_fp16.h", "bfloat16": "hip/hip_bf16.h"}


def storage(dtype: str) -> str:
    """The type of an element in memory."""
    try:
        return _STORAGE[dtype]
    except KeyError:
        raise UnsupportedError(f"unsupported: dtype {dtype}") from None


def compute(dtype: str) -> str:
    """The type arithmetic is done in: float for the 16-bit types, int64_t for the integers."""
    if dtype in ("float64", "float32", "bool"):
        return storage(dtype)
    return "float" if dtype in _TO_FLOAT else "int64_t"


def load(dtype: str, element: str) -> str:
    """An element read from memory, in its compute type."""
    convert = _TO_FLOAT.get(dtype)
    return f"{convert}({element})" if convert else element


def store(dtype: str, value: str) -> str:
    """A computed value as memory holds it."""
    convert = _FROM_FLOAT.get(dtype)
    if convert:
        return f"{convert}({value})"
    return value if compute(dtype) == storage(dtype) else f"({storage(dtype)}){value}"
