"""Elementwise operations: C semantics for integers, one rounding for floating formats."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton.language as tl

from .contract import Array, Handle, refuse
from .formats import is_fp8
from .values import SIGNED, handle, numbers, rounded, truth, unsigned

Method = Callable[..., Handle]


def _float_values(operation: str, *operands: Handle) -> list[Array]:
    """Values of floating operands; no target computes in fp8, so that is refused."""
    for operand in operands:
        if is_fp8(operand.dtype.scalar):
            refuse(operation, operand.dtype.scalar)
    return [numbers(operand) for operand in operands]


def floating(name: str, operation: Callable[..., Array]) -> Method:
    """Floating arithmetic in the operands' format, or in float32 for bfloat16, then rounded."""

    def method(self: Any, *operands: Handle) -> Handle:
        return rounded(operation(*_float_values(name, *operands)), operands[0].dtype)

    return method


def float_compare(name: str, operation: Callable[[Array, Array], Array]) -> Method:
    def method(self: Any, left: Handle, right: Handle) -> Handle:
        return truth(operation(*_float_values(name, left, right)))

    return method


def compare(operation: Callable[[Array, Array], Array]) -> Method:
    def method(self: Any, left: Handle, right: Handle) -> Handle:
        return truth(operation(left.data, right.data))

    return method


def integer(operation: Callable[[Array, Array], Array], on_bool: Any = None) -> Method:
    """Integer arithmetic modulo 2**bits; one-bit integers compute with `on_bool`."""

    def method(self: Any, left: Handle, right: Handle) -> Handle:
        one_bit = left.data.dtype == np.bool_
        if one_bit and on_bool is None:
            refuse(operation.__name__, left.dtype)
        out = (on_bool if one_bit else operation)(left.data, right.data)
        return handle(out.astype(left.data.dtype, copy=False), left.dtype)

    return method


def _divide(left: Array, right: Array) -> Array:
    """Quotient toward zero; the remainder is taken off first, so that floor is exact."""
    return np.asarray((left - np.fmod(left, right)) // right)


def _shift_left(left: Array, right: Array) -> Array:
    return np.left_shift(left, right)


def _arithmetic_shift(left: Array, right: Array) -> Array:
    signed = SIGNED[left.dtype.itemsize]
    return np.asarray(np.right_shift(left.view(signed), right.view(signed)).view(left.dtype))


def _logical_shift(left: Array, right: Array) -> Array:
    return np.right_shift(unsigned(left), unsigned(right)).view(left.dtype)


def _high_half(left: Array, right: Array) -> Array:
    """Upper half of the unsigned product, for 32 and 64 bits."""
    a, b = unsigned(left), unsigned(right)
    if left.dtype.itemsize < 8:
        product = a.astype(np.uint64) * b.astype(np.uint64)
        upper: Array = (product >> (8 * left.dtype.itemsize)).astype(a.dtype)
        return upper.view(left.dtype)
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> shift, b & low, b >> shift
    middle = a1 * b0 + ((a0 * b0) >> shift)
    other = a0 * b1 + (middle & low)
    high: Array = a1 * b1 + (middle >> shift) + (other >> shift)
    return high.view(left.dtype)


def _erf(values: Array) -> Array:
    return np.asarray(torch.erf(torch.from_numpy(np.ascontiguousarray(values))).numpy())


def _fma(self: Any, x: Handle, y: Handle, z: Handle) -> Handle:
    """x * y + z; in float64 the product of narrower formats is exact."""
    if not x.dtype.scalar.is_floating():
        refuse("fma", x.dtype)
    a, b, c = (v.astype(np.float64) for v in _float_values("fma", x, y, z))
    return rounded(a * b + c, z.dtype)


def _clamp(self: Any, x: Handle, low: Handle, high: Handle, propagate_nan: Any) -> Handle:
    value, bottom, top = _float_values("clamp", x, low, high)
    if propagate_nan == tl.PropagateNan.ALL:
        return rounded(np.minimum(np.maximum(value, bottom), top), x.dtype)
    return rounded(np.fmin(np.fmax(value, bottom), top), x.dtype)


def _select(self: Any, condition: Handle, left: Handle, right: Handle) -> Handle:
    other = right.data
    if other.dtype != left.data.dtype:  # the language mixes signed and unsigned bits in atomic_min
        other = other.view(left.data.dtype)
    return handle(np.where(condition.data, left.data, other), left.dtype)


def _fabs(self: Any, value: Handle) -> Handle:
    bits = unsigned(value.data)
    sign = np.array(1 << (8 * bits.dtype.itemsize - 1), dtype=bits.dtype)
    return handle((bits & ~sign).view(value.data.dtype), value.dtype)


def _iabs(self: Any, value: Handle) -> Handle:
    return handle(np.abs(value.data), value.dtype)


def _rsqrt(values: Array) -> Array:
    return np.asarray((1.0 / np.sqrt(values.astype(np.float64))).astype(values.dtype))


FLOATING: dict[str, Callable[..., Array]] = {
    "fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide,
    "precise_divf": np.divide, "frem": np.fmod, "minimumf": np.minimum, "maximumf": np.maximum,
    "minnumf": np.fmin, "maxnumf": np.fmax, "cos": np.cos, "sin": np.sin, "exp": np.exp,
    "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt, "precise_sqrt": np.sqrt,
    "floor": np.floor, "ceil": np.ceil, "rsqrt": _rsqrt, "erf": _erf,
}  # fmt: skip

FLOAT_COMPARES = {
    "OLT": np.less, "OGT": np.greater, "OLE": np.less_equal, "OGE": np.greater_equal,
    "OEQ": np.equal, "UNE": np.not_equal,
}  # fmt: skip

COMPARES = {
    "LT": np.less, "GT": np.greater, "LE": np.less_equal, "GE": np.greater_equal,
}  # fmt: skip

METHODS: dict[str, Any] = {
    **{f"create_{name}": floating(name, op) for name, op in FLOATING.items()},
    **{f"create_fcmp{name}": float_compare(name, op) for name, op in FLOAT_COMPARES.items()},
    **{f"create_icmp{sign}{name}": compare(op) for name, op in COMPARES.items() for sign in "SU"},
    "create_icmpEQ": compare(np.equal),
    "create_icmpNE": compare(np.not_equal),
    "create_add": integer(np.add, np.bitwise_xor),
    "create_sub": integer(np.subtract, np.bitwise_xor),
    "create_mul": integer(np.multiply, np.bitwise_and),
    "create_sdiv": integer(_divide),
    "create_udiv": integer(np.floor_divide),
    "create_srem": integer(np.fmod),
    "create_urem": integer(np.fmod),
    "create_shl": integer(_shift_left),
    "create_ashr": integer(_arithmetic_shift),
    "create_lshr": integer(_logical_shift),
    "create_umulhi": integer(_high_half),
    "create_and": integer(np.bitwise_and, np.bitwise_and),
    "create_or": integer(np.bitwise_or, np.bitwise_or),
    "create_xor": integer(np.bitwise_xor, np.bitwise_xor),
    "create_minsi": integer(np.minimum, np.bitwise_and),
    "create_minui": integer(np.minimum, np.bitwise_and),
    "create_maxsi": integer(np.maximum, np.bitwise_or),
    "create_maxui": integer(np.maximum, np.bitwise_or),
    "create_fma": _fma,
    "create_clampf": _clamp,
    "create_select": _select,
    "create_fabs": _fabs,
    "create_iabs": _iabs,
}
