"""Presets: named, versioned sets of gates with their numbers."""

from __future__ import annotations

from dataclasses import dataclass

from kernelvault.errors import ConfigError
from kernelvault.hashing import content_id
from kernelvault.spec.rows import plain

GATES = ("static", "compile", "correctness", "sanitize", "performance")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Allowed error of one dtype.

    An element may differ from the float64 expectation e by
    `rtol * |e| + atol_scale * max|e| + torch_factor * max|torch - e|`, where `torch` is PyTorch's
    own result in the native dtype on the same workload.
    """

    dtype: str
    rtol: float
    atol_scale: float
    torch_factor: float


@dataclass(frozen=True, slots=True)
class Preset:
    """The gates to run, in order, and the numbers they use."""

    name: str
    version: int
    gates: tuple[str, ...]
    min_workloads: int
    tolerances: tuple[Tolerance, ...]

    @property
    def digest(self) -> str:
        return content_id("preset", plain(self))

    def tolerance(self, dtype: str) -> Tolerance:
        for tolerance in self.tolerances:
            if tolerance.dtype == dtype:
                return tolerance
        return Tolerance(dtype, 0.0, 0.0, 0.0)


BASIC = Preset(
    name="basic",
    version=1,
    gates=("static", "compile", "correctness"),
    min_workloads=4,
    tolerances=(
        Tolerance("float64", 1e-12, 1e-13, 4.0),
        Tolerance("float32", 1e-5, 1e-6, 4.0),
        Tolerance("float16", 2e-3, 5e-4, 2.0),
        Tolerance("bfloat16", 1.6e-2, 4e-3, 2.0),
    ),
)

PRESETS: dict[str, Preset] = {BASIC.name: BASIC}


def get_preset(name: str) -> Preset:
    """The preset called `name`; raises ConfigError naming the known ones."""
    try:
        return PRESETS[name]
    except KeyError:
        raise ConfigError(f"no preset {name!r}", f"choose one of {', '.join(PRESETS)}") from None
