"""Workloads: one concrete set of arguments for a problem."""

from __future__ import annotations

from dataclasses import dataclass

from kernelvault.hashing import content_id

GENERATOR = "numpy-philox-1"
KINDS = ("correctness", "performance")


@dataclass(frozen=True, slots=True)
class Workload:
    """A recipe for arguments: a case of the problem file and a seed for the Philox generator.

    `case` is the index into the problem's correctness cases, -1 for `get_inputs()`.
    `shapes` and `dtypes` describe the resulting user inputs, in order.
    """

    workload_id: str
    problem_id: str
    kind: str
    case: int
    seed: int
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    distribution: str = "native"
    layout: str = "contiguous"
    generator: str = GENERATOR

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"workload kind is {self.kind!r}, expected one of {KINDS}")
        if self.workload_id != self.recompute_id():
            raise ValueError(f"workload_id {self.workload_id} does not match its content")

    def recompute_id(self) -> str:
        return workload_id(
            self.problem_id, self.kind, self.case, self.seed, self.shapes, self.dtypes,
            self.distribution, self.layout, self.generator,
        )  # fmt: skip


def workload_id(
    problem_id: str,
    kind: str,
    case: int,
    seed: int,
    shapes: tuple[tuple[int, ...], ...],
    dtypes: tuple[str, ...],
    distribution: str = "native",
    layout: str = "contiguous",
    generator: str = GENERATOR,
) -> str:
    """Content address of a workload."""
    body = [problem_id, kind, case, seed, shapes, dtypes, distribution, layout, generator]
    return content_id("workload", body)
