"""The execution seam: build a candidate for a tier, run it on workloads, report what happened.

A runner gets inputs and never sees expected values, the problem or the comparer; only its caller
compares. What a candidate does wrong is a value here (`Fault`), what breaks around it an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernelvault.spec.problem import Signature
from kernelvault.spec.tensor import Tensor

Scalar = int | float | bool
NO_NAMES = Signature((), (), ())


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """dtype and concrete shape of one output the harness allocates."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One workload's arguments, in signature order; `signature` names them."""

    workload_id: str
    inputs: tuple[Tensor, ...]
    scalars: tuple[Scalar, ...]
    outputs: tuple[OutputSpec, ...]
    signature: Signature = NO_NAMES


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a candidate's run is wrong whatever its numbers say.

    kind: build_failed | missing_kv_launch | error_code | crash | timeout | memory_limit |
    output_flood | out_of_bounds | input_modified | host_access | guard_damaged | launch_error |
    divergent_barrier | unsupported | no_launch | host_compute | wrong_output | other_launches |
    error
    `message` is fit to show to the kernel's author; `detail` holds facts (workload, index, line).
    """

    kind: str
    message: str
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call left in its outputs; `deterministic`: whether a second run agreed bitwise."""

    workload_id: str
    outputs: tuple[Tensor, ...]
    deterministic: bool
    launches: int


@dataclass(frozen=True, slots=True)
class NoopReplay:
    """A run with launches turned into no-ops: how many there were, what was written anyway."""

    launches: int
    touched_elements: int


@dataclass(frozen=True, slots=True)
class RunReport:
    """Results of a run in call order; the first fault ends it."""

    results: tuple[CallResult, ...]
    fault: Fault | None
    noop_replay: NoopReplay | None
    facts: dict[str, Any]
    cpu_s: float


class Executor(Protocol):
    """Runs candidates of one language on one tier."""

    tier: str
    target: str

    def run(self, source: str, calls: Sequence[Call]) -> RunReport: ...
