"""What a candidate is judged on: the problem's signature, its cases, and its native size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kernelvault.execution.contract import NO_NAMES, Call, OutputSpec
from kernelvault.problems.prepare import PreparedProblem
from kernelvault.spec.problem import Signature
from kernelvault.spec.tensor import Tensor
from kernelvault.spec.workload import Workload
from kernelvault.verification.compare import Array


class Arguments(Protocol):
    """All inputs of a workload in signature order, and its scalars."""

    @property
    def inputs(self) -> tuple[Tensor, ...]: ...

    @property
    def scalars(self) -> tuple[int | float | bool, ...]: ...


class Expected(Protocol):
    """PyTorch's own results and the float64 (or exact integer) expectation."""

    @property
    def native(self) -> tuple[Tensor, ...]: ...

    @property
    def wide(self) -> tuple[Array, ...]: ...


@dataclass(frozen=True, slots=True)
class Case:
    """One workload with everything needed to run and judge it."""

    workload: Workload
    arguments: Arguments
    expected: Expected

    def call(self, signature: Signature = NO_NAMES) -> Call:
        """What a runner is told of this case."""
        outputs = tuple(OutputSpec(t.dtype, t.shape) for t in self.expected.native)
        return Call(
            self.workload.workload_id,
            self.arguments.inputs,
            self.arguments.scalars,
            outputs,
            signature,
        )


@dataclass(frozen=True, slots=True)
class Subject:
    """A problem as the gates need it. `native` is the performance workload: a recipe only."""

    signature: Signature
    cases: tuple[Case, ...]
    native: Workload | None = None


def subject_of(prepared: PreparedProblem) -> Subject:
    """Every correctness workload of a problem with its arguments and expectations."""
    cases = tuple(
        Case(workload, prepared.arguments(workload), prepared.expected(workload))
        for workload in prepared.workloads
    )
    return Subject(prepared.problem.signature, cases, prepared.performance)
