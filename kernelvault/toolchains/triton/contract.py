"""What the Triton toolchain is asked and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelvault.spec.verification import KernelUsage


@dataclass(frozen=True, slots=True)
class ArgumentShapes:
    """One workload without data: dtype and shape of each input, the scalars, whether it is the
    problem's native size (for which every configuration of an autotuner is compiled)."""

    workload_id: str
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    scalars: tuple[int | float | bool, ...]
    native: bool = False


@dataclass(frozen=True, slots=True)
class TritonCompile:
    """What running a candidate's host code under the recording driver gave for one target.

    `error` is None or {kind, message, line}; kinds: host_compute (tensor computation outside a
    kernel), compile, resources (no loadable configuration), candidate, host (an exception of the
    host code), crash, timeout, memory_limit, output_flood.
    `launches` name kernels by their index in `kernels`.
    """

    target: str
    error: dict[str, Any] | None
    kernels: tuple[KernelUsage, ...]
    code_object_sha256: str | None
    launches: tuple[dict[str, Any], ...]
    refused: tuple[dict[str, Any], ...]
    tuned: dict[str, dict[str, int]]
    aten: dict[str, int]
    host_compute: tuple[str, ...]
    log: str
    cpu_s: float
    evidence_s: float
