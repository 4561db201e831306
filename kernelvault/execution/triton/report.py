"""What the Triton run task leaves behind, read as hostile bytes.

The candidate's host code ran in the process that wrote it. So nothing in it is more than a claim:
arrays are checked against what was asked for before they are looked at, and compared elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kernelvault.execution.contract import Call
from kernelvault.spec.strict import AtMost, Between, Count, Malformed, Name, Seconds, Text, read
from kernelvault.spec.tensor import Tensor, from_bytes

# Calls are repeated up to this number, so that more configurations of an autotuner are run.
MAX_TURNS = 24
_Size = Annotated[int, Between(-(1 << 63), 1 << 63)]
_Constant = int | float | bool | Annotated[str, AtMost(10_000)] | None


@dataclass(frozen=True, slots=True)
class ToldFault:
    """A fault as the task tells it."""

    kind: Name
    message: Text
    workload_id: Name = ""


@dataclass(frozen=True, slots=True)
class ToldLaunch:
    """One launch: its kernel, grid and declared constants."""

    kernel: Name
    grid: tuple[_Size, _Size, _Size]
    constexprs: dict[str, _Constant]

    def plain(self) -> dict[str, Any]:
        """As `CompiledLaunches.identity` takes it."""
        return {"kernel": self.kernel, "grid": list(self.grid), "constexprs": self.constexprs}


@dataclass(frozen=True, slots=True)
class ToldCall:
    """What is told of one call."""

    workload_id: Name
    launches: tuple[ToldLaunch, ...]
    noop_launches: Count
    deterministic: bool


@dataclass(frozen=True, slots=True)
class ToldRun:
    """The whole report."""

    fault: ToldFault | None
    results: tuple[ToldCall, ...]
    configs: Annotated[int, Between(1, 1 << 30)]
    configs_run: Annotated[int, Between(1, 1 << 30)]
    cpu_s: Seconds


@dataclass(frozen=True, slots=True)
class Outputs:
    """The arrays of one call: of its first run, and of the one without launches."""

    ran: tuple[Tensor, ...]
    untouched: tuple[Tensor, ...]


def read_report(data: bytes, calls: Sequence[Call]) -> ToldRun:
    """The report of a run of `calls`; raises Malformed."""
    told = read(ToldRun, data)
    if len(told.results) > max(len(calls), MAX_TURNS):
        raise Malformed(f"it has {len(told.results)} results for {len(calls)} calls")
    turns = max(len(calls), min(told.configs, MAX_TURNS))
    if told.fault is None and len(told.results) != turns:
        raise Malformed(f"it has {len(told.results)} results and no fault, {turns} were to come")
    if told.configs_run > max(1, min(told.configs, turns)):
        raise Malformed(f"{told.configs_run} of {told.configs} configurations ran in {turns} turns")
    for index, result in enumerate(told.results):
        if result.workload_id != calls[index % len(calls)].workload_id:
            raise Malformed(f"result {index} is of another workload")
    return told


def read_outputs(index: int, call: Call, files: Mapping[str, bytes]) -> Outputs:
    """The arrays of result `index`; raises Malformed when one is not of the size it must have."""
    ran, untouched = (
        tuple(
            _tensor(f"{what}_{index}_{position}.bin", spec.dtype, spec.shape, files)
            for position, spec in enumerate(call.outputs)
        )
        for what in ("out", "noop")
    )
    return Outputs(ran, untouched)


def _tensor(name: str, dtype: str, shape: tuple[int, ...], files: Mapping[str, bytes]) -> Tensor:
    raw = files.get(name)
    if raw is None:
        raise Malformed(f"{name} is missing")
    try:
        return from_bytes(dtype, shape, raw)
    except ValueError as error:
        raise Malformed(f"{name}: {error}") from None
