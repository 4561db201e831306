"""The run task: a candidate on real arguments in the interpreter, every call twice and once with
launches turned into no-ops in between."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
from triton.runtime import autotuner, interpreter

from kernelvault.execution.triton.inside import interpreter as repaired
from kernelvault.execution.triton.inside.arena import Arena, Bounds, OutOfBoundsError
from kernelvault.toolchains.triton.inside import candidate as candidates
from kernelvault.toolchains.triton.inside import device, driver
from kernelvault.toolchains.triton.inside.allowed import AllowedMode
from kernelvault.toolchains.triton.inside.candidate import CandidateError, Entry, Names
from kernelvault.toolchains.triton.inside.compile_task import warm_up_modes
from kernelvault.toolchains.triton.inside.device import HostComputeError

# Host code may ask for the architecture; what it is told makes no difference to the interpreter.
_ARCH = "gfx942"
_MESSAGE = 600


def preload() -> None:
    """Do what only the first time costs."""
    torch.set_num_threads(1)
    warm_up_modes()


@dataclass(slots=True)
class _Launches:
    """Counts launches; while `disabled`, kernels do not run."""

    count: int = 0
    disabled: bool = False
    configs: int = 1
    choice: int = 0
    chosen: set[int] = field(default_factory=set)


class _Runner:
    """One candidate, loaded, with guarded memory and the interpreter patched."""

    def __init__(self, given: Path, out: Path) -> None:
        self._given = given
        self._out = out
        self._job: dict[str, Any] = json.loads((given / "job.json").read_text())
        self._paused = device.Paused()
        self._arena = Arena()
        self._bounds = Bounds()
        self.launches = _Launches()
        self.workload = ""
        self.results: list[dict[str, Any]] = []
        device.install(_ARCH)
        stub = driver.StubDriver(_ARCH, driver.Recorder())
        triton.runtime.driver.set_active(stub)
        triton.runtime.driver._default = stub
        repaired.install(self._bounds)
        self._watch_launches()
        self._choose_configs()

    def run(self) -> None:
        """Run all calls of the job; what is done before something raises stays in `results`."""
        self._allowed = AllowedMode(self._paused)
        names = Names(tuple(map(tuple, self._job["tensors"])), tuple(self._job["scalars"]))
        with device.DeviceMode("cpu", self._paused, self._arena.allocate), self._allowed:
            path = str(self._given / "candidate.py")
            entry = candidates.load(path, names, self._allowed.model_building)
            for index, call in enumerate(self._job["calls"]):
                self.workload = call["workload_id"]
                self.launches.choice = index
                self._call(entry, index, call)

    def check_swallowed(self) -> None:
        """Raise what the candidate's own handlers may have hidden."""
        if self._bounds.violations:
            raise OutOfBoundsError(self._bounds.violations[0])
        if self.host_compute:
            raise HostComputeError(f"computes aten.{self.host_compute[0]} outside a kernel")
        if refused := repaired.refusals():
            raise repaired.Refused(refused[0])

    def _call(self, entry: Entry, index: int, call: dict[str, Any]) -> None:
        first, launches = self._once(entry, call)
        self._write(index, "out", first, call["outputs"])
        self.launches.disabled = self._arena.poison_all = True
        untouched, replayed = self._once(entry, call)
        self.launches.disabled = self._arena.poison_all = False
        self._write(index, "noop", untouched, call["outputs"])
        second, _ = self._once(entry, call)
        with self._paused():
            same = all(map(_same, first, second))
        self.results.append(
            {
                "workload_id": self.workload,
                "launches": launches,
                "noop_launches": replayed,
                "deterministic": same,
            }
        )

    def _once(self, entry: Entry, call: dict[str, Any]) -> tuple[list[torch.Tensor], int]:
        self._arena.forget()
        with self._paused():
            originals = [self._load(*item) for item in call["inputs"]]
            placed = [self._arena.place(t, f"input {i}") for i, t in enumerate(originals)]
        before = self.launches.count
        result = candidates.outputs(entry(placed, call["scalars"]))
        launched = self.launches.count - before
        with self._paused():
            for position, (given, original) in enumerate(zip(placed, originals, strict=True)):
                if not _same(given, original):
                    raise CandidateError(f"writes to input {position}")
            if len(result) != len(call["outputs"]):
                wanted = len(call["outputs"])
                raise CandidateError(f"returned {len(result)} tensors, the reference {wanted}")
            for position, (tensor, spec) in enumerate(zip(result, call["outputs"], strict=True)):
                _check_output(position, tensor, *spec)
        return result, launched

    def _load(self, name: str, dtype: str, shape: list[int]) -> torch.Tensor:
        raw = np.fromfile(self._given / name, dtype=np.uint8)
        return torch.from_numpy(raw).view(getattr(torch, dtype)).reshape(shape)

    def _write(
        self, index: int, what: str, tensors: Sequence[torch.Tensor], specs: Sequence[Any]
    ) -> None:
        with self._paused():
            for position, tensor in enumerate(tensors):
                path = self._out / f"{what}_{index}_{position}.bin"
                _raw(tensor).numpy().tofile(path)

    def _watch_launches(self) -> None:
        run = interpreter.InterpretedFunction.run

        def watched_run(this: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            self.launches.count += 1
            if self.launches.disabled:
                if callable(grid):
                    grid(_bound(this, args, kwargs))
                return None
            extents = self._arena.extents([*args, *kwargs.values()])
            self._bounds.set(this.fn.__name__, extents)
            with self._paused():
                grid = self._paused.watched(grid)
                return run(this, *args, grid=grid, warmup=warmup, **kwargs)

        interpreter.InterpretedFunction.run = watched_run

    def _choose_configs(self) -> None:
        """Workloads take turns with an autotuner's configurations: each runs only one, since
        running all would only show the last."""
        prune = autotuner.Autotuner.prune_configs

        def one(this: Any, kwargs: Any) -> list[Any]:
            configs = prune(this, kwargs)
            self.launches.configs = max(self.launches.configs, len(configs))
            chosen = self.launches.choice % len(configs)
            self.launches.chosen.add(chosen)
            return [configs[chosen]]

        run = autotuner.Autotuner.run

        def fresh_run(this: Any, *args: Any, **kwargs: Any) -> Any:
            this.cache.clear()
            return run(this, *args, **kwargs)

        def benchmark(*_: Any, **__: Any) -> list[float]:
            return [1.0] * 3

        autotuner.Autotuner.prune_configs = one
        autotuner.Autotuner.run = fresh_run
        autotuner.Autotuner.do_bench = property(lambda this: benchmark)

    @property
    def aten(self) -> dict[str, int]:
        return self._allowed.calls

    @property
    def host_compute(self) -> list[str]:
        return self._allowed.refused


def _bound(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(function.arg_names, args, strict=False)), **kwargs}


def _check_output(position: int, tensor: torch.Tensor, dtype: str, shape: list[int]) -> None:
    got, name = list(tensor.shape), str(tensor.dtype).removeprefix("torch.")
    if got != shape or name != dtype:
        text = f"output {position} is {name}{got}, the reference gives {dtype}{shape}"
        raise CandidateError(text)
    if not tensor.is_contiguous():
        raise CandidateError(f"output {position} is not dense row-major (contiguous)")


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    return bool(torch.equal(_raw(left), _raw(right)))


def run(given: str, out: str) -> None:
    """Run GIVEN/candidate.py as GIVEN/job.json says; write outputs and OUT/report.json."""
    began = time.process_time()
    runner = _Runner(Path(given), Path(out))
    fault = None
    try:
        runner.run()
        runner.check_swallowed()
    except BaseException as raised:  # noqa: BLE001  (a candidate may raise anything at all)
        fault = {**_fault(raised), "workload_id": runner.workload}
    report = {
        "fault": fault,
        "results": runner.results,
        "configs": runner.launches.configs,
        "configs_run": max(1, len(runner.launches.chosen)),
        "aten": runner.aten,
        "host_compute": runner.host_compute,
        "cpu_s": time.process_time() - began,
    }
    Path(out, "report.json").write_text(json.dumps(report, allow_nan=False))


def _fault(raised: BaseException) -> dict[str, str]:
    chain = [raised]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(cause)
    kinds = {
        repaired.Refused: "unsupported",
        NotImplementedError: "unsupported",
        OutOfBoundsError: "out_of_bounds",
        HostComputeError: "host_compute",
        CandidateError: "wrong_output",
    }
    for error in chain:
        for known, kind in kinds.items():
            if isinstance(error, known):
                return {"kind": kind, "message": str(error)[:_MESSAGE]}
    last = chain[-1]
    return {"kind": "error", "message": f"{type(last).__name__}: {last}"[:_MESSAGE]}
