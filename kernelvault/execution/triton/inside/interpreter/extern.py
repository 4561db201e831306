"""Functions of AMD's device library, by symbol, over torch and NumPy.

The module `triton.language.extra.hip.libdevice` picks the symbol from the operands' types, as it
does when it compiles, so a call that the compiler rejects is rejected here too.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton.language as tl
from numpy.typing import NDArray

from .contract import Array, Handle, Type, refuse
from .values import handle, holder

SYMBOL = re.compile(r"__(?:ocml|triton_hip)_(\w+?)(?:_f(?:32|64))?")
special = torch.special

TORCH: dict[str, Callable[..., torch.Tensor]] = {
    **{name: getattr(torch, name) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos",
        "cosh", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "fmod", "hypot", "i0",
        "isfinite", "isinf", "isnan", "lgamma", "log", "log10", "log1p", "log2", "nextafter", "pow",
        "rsqrt", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")},
    "erfcx": special.erfcx, "i1": special.i1, "j0": special.bessel_j0, "j1": special.bessel_j1,
    "y0": special.bessel_y0, "y1": special.bessel_y1, "nearbyint": torch.round,
    "rint": torch.round, "fabs": torch.abs, "iabs": torch.abs, "pown": torch.pow,
    "fast_expf": torch.exp, "fast_tanhf": torch.tanh, "fast_fdividef": torch.div,
}  # fmt: skip


def _half_away(values: Array) -> Array:
    """C's `round`: halves go away from zero."""
    whole = np.trunc(values)
    return np.asarray(whole + np.copysign(np.abs(values - whole) >= 0.5, values))


def _fma(x: Array, y: Array, z: Array) -> Array:
    return np.asarray(x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64))


def _ilogb(values: Array) -> Array:
    """Unbiased exponent; the C library's markers for zero, NaN and infinity."""
    exponent = np.frexp(values)[1] - 1
    exponent = np.where(values == 0, np.int32(-(2**31) + 1), exponent)
    exponent = np.where(np.isnan(values), np.int32(-(2**31)), exponent)
    return np.where(np.isinf(values), np.int32(2**31 - 1), exponent)


NUMPY: dict[str, Callable[..., Array]] = {
    "round": _half_away, "fma": _fma, "ilogb": _ilogb, "ldexp": np.ldexp, "llrint": np.rint,
}  # fmt: skip


def call(symbol: str, operands: list[Array]) -> Array:
    """Apply the function behind `symbol` to arrays of one shape.

    Raises:
        Refused: for a symbol that is not known.
    """
    match = SYMBOL.fullmatch(symbol)
    name = match[1] if match else ""
    if name in NUMPY:
        return NUMPY[name](*operands)
    if name not in TORCH:
        refuse(f"extern function {symbol}")
    tensors = [torch.from_numpy(np.array(data)) for data in operands]
    out: NDArray[Any] = TORCH[name](*tensors).numpy()
    return out


def _extern(
    self: Any, library: str, path: str, symbol: str, operands: list[Handle], kind: Type, pure: bool
) -> Handle:
    out = call(symbol, [operand.data for operand in operands])
    return handle(out.astype(holder(kind)), kind)


def _inline_assembly(self: Any, text: str, *rest: Any) -> Handle:
    refuse("inline_asm_elementwise", "", "assembly of a GPU")


def missing(name: str) -> Callable[..., Any]:
    """Stand in for a device function that AMD's library lacks."""

    def function(*arguments: Any, **options: Any) -> Any:
        kinds = [str(a.dtype) for a in arguments if isinstance(a, tl.tensor)]
        refuse(f"libdevice.{name}", ", ".join(kinds), "AMD's device library has no such function")

    return function


METHODS: dict[str, Any] = {
    "create_extern_elementwise": _extern,
    "create_inline_asm": _inline_assembly,
}
