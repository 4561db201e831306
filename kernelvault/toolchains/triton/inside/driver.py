"""A Triton driver with no device: kernels are really compiled for an AMD target, a launch is only
recorded. Autotuners compile their configurations instead of timing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime import autotuner, jit
from triton.runtime.errors import OutOfResources

from kernelvault.toolchains.triton.inside.candidate import CandidateError, plain
from kernelvault.toolchains.triton.inside.device import FACTS, Paused

# HIP refuses more than 2**32 - 1 work-items in a dimension, and 65535 blocks in y and z.
_MAX_WORK_ITEMS = (1 << 32) - 1
_MAX_BLOCKS = ((1 << 31) - 1, 65535, 65535)
_MAX_THREADS = 1024
WAVE = 64


@dataclass(slots=True)
class Recorder:
    """What happened under the driver: launches, compiled kernels, refused and tuned configurations.

    `tune_limit` is how many configurations of an autotuner are compiled before one is chosen.
    """

    workload: str = ""
    tune_limit: int = 1
    launches: list[dict[str, Any]] = field(default_factory=list)
    compiled: dict[str, Any] = field(default_factory=dict)
    refused: list[dict[str, Any]] = field(default_factory=list)
    tuned: dict[str, dict[str, int]] = field(default_factory=dict)
    left_to_try: int = 0
    tuning: bool = False


class _Utils:
    def __init__(self, arch: str) -> None:
        self._arch = arch

    def get_device_properties(self, device: int) -> dict[str, Any]:
        facts = FACTS[self._arch]
        return {
            "max_shared_mem": facts.lds_bytes,
            "max_num_regs": 65536,
            "multiprocessor_count": facts.compute_units,
            "warpSize": WAVE,
            "arch": self._arch,
            "sm_clock_rate": 2100000,
            "mem_clock_rate": 1300000,
            "mem_bus_width": 8192,
        }

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[int, ...]:
        """(module, function, registers, spills, most threads of a block)."""
        return 1, 1, 0, 0, _MAX_THREADS


class StubDriver(DriverBase):  # type: ignore[misc]  # triton has no types
    """Triton's driver protocol for one AMD architecture, with nothing behind it."""

    def __init__(self, arch: str, recorder: Recorder) -> None:
        self._arch = arch
        self._recorder = recorder
        self.utils = _Utils(arch)
        self.launcher_cls = self._launcher

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("hip", self._arch, WAVE)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        return None

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_device_capability(self, *args: Any) -> tuple[int, int]:
        return FACTS[self._arch].capability

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_empty_cache_for_benchmark(self) -> None:
        return None

    def clear_cache(self, cache: Any) -> None:
        return None

    def get_benchmarker(self) -> Callable[..., list[float]]:
        return self._benchmark

    def _benchmark(self, call: Callable[[], Any], quantiles: Any = None, **_: Any) -> list[float]:
        """Compile one configuration; those after the limit are not looked at and never chosen."""
        if self._recorder.left_to_try <= 0:
            return [float("inf")] * 3
        self._recorder.tuning = True
        try:
            call()
        except OutOfResources:
            return [float("inf")] * 3  # recorded where it was refused
        finally:
            self._recorder.tuning = False
        self._recorder.left_to_try -= 1
        return [1.0] * 3

    def _launcher(self, source: Any, metadata: Any) -> Callable[..., None]:
        names = source.fn.arg_names

        def launch(gx: int, gy: int, gz: int, *rest: Any) -> None:
            grid = (int(gx), int(gy), int(gz))
            _check_grid(source.fn.__name__, grid, metadata.num_warps)
            self._recorder.launches.append(
                {
                    "kernel": source.fn.__name__,
                    "workload_id": self._recorder.workload,
                    "grid": list(grid),
                    "hash": metadata.hash,
                    "tuning": self._recorder.tuning,
                    "declared": [
                        parameter.name for parameter in source.fn.params if parameter.is_constexpr
                    ],
                    "signature": {key: str(value) for key, value in source.signature.items()},
                    "constexprs": {
                        _path(names, key): plain(value) for key, value in source.constants.items()
                    },
                    "attributes": {
                        _path(names, key): str(value)
                        for key, value in source.attrs.items()
                        if value
                    },
                }
            )

        return launch


def _path(names: list[str], key: tuple[int, ...]) -> str:
    return names[key[0]] + "".join(f"[{index}]" for index in key[1:])


def _check_grid(kernel: str, grid: tuple[int, int, int], num_warps: int) -> None:
    if min(grid) < 0:
        raise CandidateError(f"{kernel} is launched with a negative grid {grid}")
    too_many = grid[0] * num_warps * WAVE > _MAX_WORK_ITEMS
    if too_many or any(size > limit for size, limit in zip(grid, _MAX_BLOCKS, strict=True)):
        raise CandidateError(f"{kernel} is launched with a grid {grid}, more than a GPU accepts")


def install(arch: str, recorder: Recorder, paused: Paused) -> None:
    """Make the driver active and have every compilation and refusal recorded."""
    driver = StubDriver(arch, recorder)
    triton.runtime.driver.set_active(driver)
    triton.runtime.driver._default = driver  # asking for the default must not probe for a GPU
    _record_compilations(recorder)
    _bound_autotuners(recorder)
    run = jit.JITFunction.run

    def quiet_run(self: Any, *args: Any, grid: Any, **kwargs: Any) -> Any:
        with paused():
            return run(self, *args, grid=paused.watched(grid), **kwargs)

    jit.JITFunction.run = quiet_run


def _record_compilations(recorder: Recorder) -> None:
    from triton.compiler import compiler

    load = compiler.CompiledKernel._init_handles

    def recorded_load(self: Any) -> None:
        recorder.compiled[self.metadata.hash] = self
        try:
            load(self)
        except OutOfResources as error:
            facts = {
                "kernel": self.name,
                "hash": self.metadata.hash,
                "workload_id": recorder.workload,
                "lds_bytes": self.metadata.shared,
                "num_warps": self.metadata.num_warps,
                "num_stages": getattr(self.metadata, "num_stages", None),
                "reason": str(error),
            }
            if facts not in recorder.refused:
                recorder.refused.append(facts)
            raise

    compiler.CompiledKernel._init_handles = recorded_load


def _bound_autotuners(recorder: Recorder) -> None:
    prune = autotuner.Autotuner.prune_configs

    def bounded(self: Any, kwargs: Any) -> list[Any]:
        configs: list[Any] = prune(self, kwargs)
        recorder.left_to_try = recorder.tune_limit
        name = self.base_fn.__name__
        known = recorder.tuned.setdefault(name, {"configs": 0, "compiled_at_most": 0})
        known["configs"] = max(known["configs"], len(configs))
        tried = min(len(configs), recorder.tune_limit)
        known["compiled_at_most"] = max(known["compiled_at_most"], tried)
        return configs

    autotuner.Autotuner.prune_configs = bounded
