"""The run task: a candidate on real arguments in the interpreter, every call twice and once with
launches turned into no-ops in between."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from triton.runtime import autotuner, interpreter

from kernelvault.execution.triton.inside import interpreter as repaired
from kernelvault.execution.triton.inside.arena import Arena, Bounds, OutOfBoundsError
from kernelvault.toolchains.triton.inside import candidate as candidates
from kernelvault.toolchains.triton.inside import device, driver
from kernelvault.toolchains.triton.inside.allowed import AllowedMode
from kernelvault.toolchains.triton.inside.candidate import CandidateError, Entry, Names
from kernelvault.toolchains.triton.inside.compile_task import warm_up_modes
from kernelvault.toolchains.triton.inside.device import HostComputeError

# How many configurations of an autotuner are run, one after another, beyond one a workload.
_MAX_CONFIGS = 24


_LAUNCHED = object()  # what a launch returns is of no use, but it is not None on a GPU


def preload() -> None:
    """Do what only the first time costs."""
    torch.set_num_threads(1)
    warm_up_modes()


@dataclass(slots=True)
class _Launches:
    """Counts launches; while `disabled`, kernels do not run."""

    made: list[dict[str, Any]] = field(default_factory=list)
    disabled: bool = False
    configs: int = 1
    choice: int = 0
    chosen: set[int] = field(default_factory=set)


class _Runner:
    """One candidate, loaded, with guarded memory and the interpreter patched."""

    def __init__(self, arch: str, given: Path, out: Path) -> None:
        self._given = given
        self._out = out
        self._job: dict[str, Any] = json.loads((given / "job.json").read_text())
        self._paused = device.Paused()
        self._arena = Arena()
        self._bounds = Bounds()
        self.launches = _Launches()
        self.workload = ""
        self.results: list[dict[str, Any]] = []
        device.install(arch)
        stub = driver.StubDriver(arch, driver.Recorder())
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
            calls, turn = self._job["calls"], 0
            while turn < len(calls) or turn < min(self.launches.configs, _MAX_CONFIGS):
                call = calls[turn % len(calls)]
                self.workload = call["workload_id"]
                self.launches.choice = turn
                self._call(entry, turn, call)
                turn += 1

    def check_swallowed(self) -> None:
        """Raise what the candidate's own handlers may have hidden."""
        if self._bounds.violations:
            raise OutOfBoundsError(self._bounds.violations[0])
        if self.host_compute:
            raise HostComputeError(f"computes aten.{self.host_compute[0]} outside a kernel")
        if refused := repaired.refusals():
            raise repaired.Refused(refused[0])

    def _call(self, entry: Entry, index: int, call: dict[str, Any]) -> None:
        # In turns before, between and after the real calls: no count of calls tells which it is.
        self._arena.forget()
        order = ["run", "run"]
        order.insert(index % 3, "replay")
        made = {}
        for position, what in enumerate(order):
            made[what, position] = self._once(entry, call, replay=what == "replay")
        (first, launches), (second, _) = (v for (what, _), v in made.items() if what == "run")
        ((untouched, replayed),) = (v for (what, _), v in made.items() if what == "replay")
        self._write(index, "out", first)
        self._write(index, "noop", untouched)
        with self._paused():
            same = all(map(_same, first, second))
        self.results.append(
            {
                "workload_id": self.workload,
                "launches": launches,
                "noop_launches": len(replayed),
                "deterministic": same,
            }
        )

    def _once(
        self, entry: Entry, call: dict[str, Any], replay: bool
    ) -> tuple[list[torch.Tensor], list[dict[str, Any]]]:
        """Outputs and launches of one call; in a replay nothing is launched or filled."""
        self.launches.disabled = self._arena.poison_all = replay
        self._allowed.suppress_fills = replay
        with self._paused():
            originals = [self._load(*item) for item in call["inputs"]]
            placed = [self._arena.place(t, f"input {i}") for i, t in enumerate(originals)]
        self.launches.made = []
        result = candidates.outputs(entry(placed, call["scalars"]))
        launched = self.launches.made
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

    def _write(self, index: int, what: str, tensors: Sequence[torch.Tensor]) -> None:
        with self._paused():
            for position, tensor in enumerate(tensors):
                path = self._out / f"{what}_{index}_{position}.bin"
                _raw(tensor).numpy().tofile(path)

    def _watch_launches(self) -> None:
        run = interpreter.InterpretedFunction.run

        def watched_run(this: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            bound = _bound(this, args, kwargs)
            shape = self._paused.watched(grid)(bound) if callable(grid) else grid
            self.launches.made.append(_launch(this, shape, bound))
            if self.launches.disabled:
                return _LAUNCHED
            extents = self._arena.extents([*args, *kwargs.values()])
            self._bounds.set(this.fn.__name__, extents)
            with self._paused():
                fixed = {
                    this.arg_names[place] if isinstance(place, int) else place
                    for place in this.kwargs.get("do_not_specialize") or ()
                }
                known = {name: _specialised(value, name in fixed) for name, value in bound.items()}
                options = {k: v for k, v in kwargs.items() if k not in bound}
                run(this, grid=shape, warmup=warmup, **known, **options)
            return _LAUNCHED

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
    def host_compute(self) -> list[str]:
        return self._allowed.refused


def _bound(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments of a launch by name, defaults included; options are left out."""
    known = {name: value for name, value in kwargs.items() if name in function.arg_names}
    return inspect.getcallargs(function.fn, *args, **known)


def _specialised(value: Any, fixed: bool) -> Any:
    """An integer argument of 1 is a constant to the compiler, unless the kernel forbids it."""
    return tl.constexpr(1) if type(value) is int and value == 1 and not fixed else value


def _launch(function: Any, grid: Any, bound: dict[str, Any]) -> dict[str, Any]:
    """What identifies a launch on every tier: kernel, grid, declared constants."""
    name = function.fn.__name__
    parameters = inspect.signature(function.fn).parameters
    constants = {n: bound[n] for n, p in parameters.items() if "constexpr" in str(p.annotation)}
    if any(isinstance(value, torch.Tensor) for value in constants.values()):
        raise CandidateError(f"{name} is given a tensor as a constant")
    sizes = [int(n) for n in (grid if isinstance(grid, tuple | list) else (grid,))]
    return {
        "kernel": name,
        "grid": [*sizes, 1, 1, 1][:3],
        "constexprs": {n: candidates.plain(value) for n, value in constants.items()},
    }


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


def run(arch: str, given: str, out: str) -> None:
    """Run GIVEN/candidate.py as GIVEN/job.json says; write outputs and OUT/report.json.

    Its host code is told that it has an `arch`.
    """
    began = time.process_time()
    runner = _Runner(arch, Path(given), Path(out))
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
        "cpu_s": time.process_time() - began,
    }
    Path(out, "report.json").write_text(json.dumps(report, allow_nan=False))


def _fault(raised: BaseException) -> dict[str, str]:
    chain = candidates.chain(raised)
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
                return {"kind": kind, "message": candidates.text(error)}
    last = chain[-1]
    return {"kind": "error", "message": f"{type(last).__name__}: {candidates.text(last)}"}
