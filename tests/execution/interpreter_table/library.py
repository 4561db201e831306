"""Rows: AMD's device library and the random numbers."""

import numpy as np
import torch

from operation import Operation

WIDE = ("float32", "float64")
special = torch.special
UNARY = {
    "positive": {"log": torch.log, "log10": torch.log10, "log1p": torch.log1p, "log2": torch.log2,
                 "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "lgamma": torch.lgamma,
                 "y0": special.bessel_y0, "y1": special.bessel_y1},
    "above one": {"acosh": torch.acosh},
    "unit": {"acos": torch.acos, "asin": torch.asin, "atanh": torch.atanh, "erfinv": torch.erfinv},
    "any": {"abs": torch.abs, "ceil": torch.ceil, "floor": torch.floor, "trunc": torch.trunc,
            "rint": torch.round, "nearbyint": torch.round, "exp": torch.exp, "exp2": torch.exp2,
            "expm1": torch.expm1, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan,
            "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "asinh": torch.asinh,
            "atan": torch.atan, "erf": torch.erf, "erfc": torch.erfc, "erfcx": special.erfcx,
            "j0": special.bessel_j0, "j1": special.bessel_j1, "cyl_bessel_i0": torch.i0,
            "cyl_bessel_i1": special.i1, "fast_expf": torch.exp, "fast_tanhf": torch.tanh,
            "isnan": torch.isnan, "isinf": torch.isinf, "finitef": torch.isfinite,
            "isfinited": torch.isfinite, "signbit": torch.signbit,
            "round": lambda a: torch.trunc(a + 0.5 * a.sign()),
            "llrint": torch.round, "ilogb": lambda a: torch.floor(torch.log2(a.abs()))},
}  # fmt: skip
BINARY = {
    "atan2": torch.atan2, "copysign": torch.copysign, "fmod": torch.fmod, "hypot": torch.hypot,
    "fast_dividef": torch.div, "nextafter": lambda a, b: a,
}  # fmt: skip


def _device_library() -> list[Operation]:
    rows = []
    for inputs, functions in UNARY.items():
        for name, function in functions.items():
            rows.append(Operation("libdevice", name, f"libdevice.{name}(a)",
                                  lambda a, b, c, f=function: f(a), WIDE, inputs=inputs, factor=64))  # fmt: skip
    for name, function in BINARY.items():
        rows.append(Operation("libdevice", name, f"libdevice.{name}(a, b)",
                              lambda a, b, c, f=function: f(a, b), WIDE, factor=64))  # fmt: skip
    rows.append(Operation("libdevice", "pow", "libdevice.pow(a, b)", lambda a, b, c: a**b, WIDE,
                          inputs="positive", factor=64))  # fmt: skip
    rows.append(Operation("libdevice", "pow with an integer", "libdevice.pow(a, i % 4)",
                          lambda a, b, c: a ** (torch.arange(256) % 4), WIDE, factor=64))  # fmt: skip
    rows.append(Operation("libdevice", "ldexp", "libdevice.ldexp(a, i % 5)",
                          lambda a, b, c: a * 2.0 ** (torch.arange(256) % 5), WIDE))  # fmt: skip
    rows.append(Operation("libdevice", "fma", "libdevice.fma(a, b, c)",
                          lambda a, b, c: a * b + c, WIDE, factor=8))  # fmt: skip
    rows.append(Operation("libdevice", "not in AMD's library (normcdf)", "libdevice.normcdf(a)",
                          lambda a, b, c: a, ("float32",)))  # fmt: skip
    return rows


def philox(seed: int, offsets: np.ndarray) -> list[np.ndarray]:
    """Philox 4x32-10 (Salmon et al., 2011) of 64-bit offsets under a 64-bit seed."""
    mask = 0xFFFFFFFF
    counters = [offsets & mask, offsets >> 32, offsets * 0, offsets * 0]
    c = [[int(v) for v in column] for column in counters]
    out = []
    for words in zip(*c, strict=True):
        w = list(words)
        key = [seed & mask, seed >> 32]
        for _ in range(10):
            p0, p1 = 0xD2511F53 * w[0], 0xCD9E8D57 * w[2]
            w = [(p1 >> 32) ^ w[1] ^ key[0], p1 & mask, (p0 >> 32) ^ w[3] ^ key[1], p0 & mask]
            key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
        out.append(w)
    return [np.array(column, dtype=np.int64) for column in zip(*out, strict=True)]


SEED = 0x1234ABCD5678


def _uniform(words: np.ndarray) -> torch.Tensor:
    signed = words.astype(np.uint32).view(np.int32).astype(np.int64)
    folded = np.where(signed < 0, -signed - 1, signed).astype(np.float32)
    return torch.from_numpy(folded * np.float32(4.6566127342e-10)).double()


def _offsets(a: torch.Tensor) -> np.ndarray:
    return a.numpy().astype(np.int64)


def _normal(a: torch.Tensor) -> torch.Tensor:
    words = philox(SEED, _offsets(a))
    first, second = _uniform(words[0]), _uniform(words[1])
    return (-2 * first.clamp(min=1e-7).log()).sqrt() * (2 * np.pi * second).cos()


OFFSETS = ("int32", "int64", "uint32")
RANDOM = [
    Operation("random numbers", "randint", f"tl.randint({SEED}, a)",
              lambda a, b, c: torch.from_numpy(philox(SEED, _offsets(a))[0]), OFFSETS, out="uint32", inputs="positive"),
    Operation("random numbers", "randint4x", f"p, q, s, t = tl.randint4x({SEED}, a)\nr = p ^ q ^ s ^ t",
              lambda a, b, c: torch.from_numpy(np.bitwise_xor.reduce(philox(SEED, _offsets(a)))), OFFSETS, out="uint32", inputs="positive"),
    Operation("random numbers", "rand", f"tl.rand({SEED}, a)",
              lambda a, b, c: _uniform(philox(SEED, _offsets(a))[0]), OFFSETS, out="float32", inputs="positive", factor=1),
    Operation("random numbers", "randn", f"tl.randn({SEED}, a)",
              lambda a, b, c: _normal(a), OFFSETS, out="float32", inputs="positive", factor=64),
]  # fmt: skip

ROWS = [*_device_library(), *RANDOM]
