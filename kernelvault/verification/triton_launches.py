"""What a Triton candidate launched when it was compiled, to be compared with what it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kernelvault.execution.contract import Call
from kernelvault.toolchains.triton.contract import ArgumentShapes, TritonCompile

Shape = tuple[tuple[str, tuple[int, ...]], ...]


class Launches:
    """The launches of one compilation by shapes; those that only tuned are left out.

    Of an autotuned kernel only the name counts: which configuration is launched differs.
    """

    def __init__(self, compiled: TritonCompile, workloads: Sequence[ArgumentShapes]) -> None:
        self._tuned = frozenset(compiled.tuned)
        names = {workload.workload_id: workload.inputs for workload in workloads}
        self._by_shape: dict[Shape, list[str]] = {shape: [] for shape in names.values()}
        for launch in compiled.launches:
            if not launch["tuning"]:
                declared = {n: launch["constexprs"].get(n) for n in launch["declared"]}
                known = {**launch, "constexprs": declared}
                self._by_shape[names[launch["workload_id"]]].append(self.identity(known))

    def of(self, call: Call) -> list[str]:
        """The launches for a call's shapes, in order, each in words."""
        return self._by_shape[tuple((t.dtype, t.shape) for t in call.inputs)]

    def identity(self, launch: Mapping[str, Any]) -> str:
        """A launch in words."""
        name = str(launch["kernel"])
        if name in self._tuned:
            return name
        constants = json.dumps(launch["constexprs"], sort_keys=True)
        return f"{name} with grid {launch['grid']} and {constants}"

    def everything(self) -> list[list[str]]:
        """All launches, to compare two architectures."""
        return list(self._by_shape.values())
