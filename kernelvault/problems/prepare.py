"""From a problem file to a problem with workloads, arguments and expectations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelvault.hashing import content_id
from kernelvault.problems import cache
from kernelvault.problems.classify import family, graph_group, operators
from kernelvault.problems.manifest import Recorded
from kernelvault.problems.source import ProblemSource
from kernelvault.problems.worker import malformed, work, worker_digest
from kernelvault.sandbox import Sandbox
from kernelvault.settings import Settings
from kernelvault.spec.graph import Graph
from kernelvault.spec.problem import (
    Domain,
    Problem,
    ScalarSpec,
    Signature,
    SymbolRange,
    problem_id,
)
from kernelvault.spec.strict import Malformed, printable
from kernelvault.spec.tensor import Tensor
from kernelvault.spec.workload import Workload, workload_id


@dataclass(frozen=True, slots=True)
class Arguments:
    """All inputs of a workload in signature order, and the scalars."""

    inputs: tuple[Tensor, ...]
    scalars: tuple[int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """PyTorch's own results, and the same in float64 (integers stay exact)."""

    native: tuple[Tensor, ...]
    wide: tuple[npt.NDArray[Any], ...]


@dataclass(frozen=True, slots=True)
class PreparedProblem:
    """An admitted problem. `workloads` are for correctness; `performance` is a recipe only."""

    problem: Problem
    workloads: tuple[Workload, ...]
    performance: Workload
    graph: Graph
    entry: cache.Entry

    def arguments(self, workload: Workload) -> Arguments:
        """The arguments of a correctness workload; raises KeyError for any other."""
        users = [self.entry.tensor(item) for item in self._recorded(workload).users]
        fixed = [self.entry.tensor(item) for item in self.entry.manifest.fixed]
        scalars = tuple(scalar.value for scalar in self.problem.signature.scalars)
        return Arguments((*users, *fixed), scalars)

    def expected(self, workload: Workload) -> Expected:
        """What a correctness workload must give; raises KeyError for any other."""
        recorded = self._recorded(workload)
        native = tuple(self.entry.tensor(item) for item in recorded.native)
        wide = tuple(_wide(self.entry.tensor(item)) for item in recorded.wide)
        return Expected(native, wide)

    def _recorded(self, workload: Workload) -> Recorded:
        for known, recorded in zip(self.workloads, self.entry.manifest.workloads, strict=True):
            if known.workload_id == workload.workload_id:
                return recorded
        raise KeyError(workload.workload_id)


def prepare(source: ProblemSource, settings: Settings, sandbox: Sandbox) -> PreparedProblem:
    """Run the reference worker on `source`, or read what it said before.

    Raises ProblemRejected when the file cannot serve; InfrastructureError for our own faults.
    """
    key = content_id("reference", [source.source, worker_digest()])
    try:
        entry = cache.obtain(settings.cache / "reference", key, lambda: work(source, sandbox))
    except Malformed as error:
        raise malformed(source, f"a malformed description: {error}") from error
    try:
        return _assemble(source, entry)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        # The file ran beside our worker and could have written a graph that leads nowhere.
        raise malformed(source, f"a malformed description: {printable(str(error))}") from error


def _assemble(source: ProblemSource, entry: cache.Entry) -> PreparedProblem:
    known = entry.manifest
    graph = known.graph
    told = known.signature
    scalars = tuple(ScalarSpec(*scalar) for scalar in told.scalars)
    signature = Signature(told.inputs, scalars, told.outputs)
    users = [spec.dtype for spec in signature.inputs if spec.kind == "user"]
    domain = Domain(tuple(SymbolRange(*symbol) for symbol in known.symbols), tuple(users))
    identity = problem_id(source.source, signature, domain, known.mode)
    problem = Problem(
        problem_id=identity,
        name=source.name,
        family=family(graph),
        source=source.source,
        signature=signature,
        domain=domain,
        mode=known.mode,
        graph_group=graph_group(graph),
        operators=operators(graph),
        reference_precision=known.reference_precision,
        provenance=source.provenance,
    )
    workloads = tuple(
        _workload(
            identity, "correctness", item.case, item.seed,
            [(user.shape, user.dtype) for user in item.users],
        )
        for item in known.workloads
    )  # fmt: skip
    performance = _workload(identity, "performance", -1, 0, known.performance)
    return PreparedProblem(problem, workloads, performance, graph, entry)


def _workload(
    identity: str,
    kind: str,
    case: int,
    seed: int,
    users: Sequence[tuple[tuple[int, ...], str]],
) -> Workload:
    shapes = tuple(shape for shape, _ in users)
    dtypes = tuple(dtype for _, dtype in users)
    made = workload_id(identity, kind, case, seed, shapes, dtypes)
    return Workload(made, identity, kind, case, seed, shapes, dtypes)


def _wide(tensor: Tensor) -> npt.NDArray[Any]:
    if tensor.is_floating:
        return tensor.data if tensor.dtype == "float64" else tensor.as_float64()
    return tensor.data.astype(np.int64)
