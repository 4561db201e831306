"""A HIP device for Inductor on a machine that has none: only what lowering asks is answered.

Nothing here compiles or runs a kernel. `install` changes torch and triton for the whole process.
"""

from __future__ import annotations

import types
from contextlib import nullcontext
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

ARCHITECTURE = "gfx942"
WAVE = 64
HIP_VERSION = "6.4.0"


class OfflineDriver(DriverBase):  # type: ignore[misc]  # triton has no types
    """Names the target, so that Triton looks for no GPU."""

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("hip", ARCHITECTURE, WAVE)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_benchmarker(self) -> Any:
        raise RuntimeError("there is no device to measure on")


def _properties() -> types.SimpleNamespace:
    """An MI300X as `torch.cuda.get_device_properties` describes it."""
    return types.SimpleNamespace(
        name="AMD Instinct MI300X",
        gcnArchName=f"{ARCHITECTURE}:sramecc+:xnack-",
        multi_processor_count=304,
        warp_size=WAVE,
        total_memory=192 << 30,
        major=9,
        minor=4,
        shared_memory_per_block=65536,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        regs_per_multiprocessor=65536,
        L2_cache_size=4 << 20,
    )


def install() -> None:
    """Make torch and triton answer as they would beside one MI300X."""
    driver = OfflineDriver()
    triton.runtime.driver.set_active(driver)
    triton.runtime.driver._default = driver  # resetting must not look for a GPU either
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda _device: None,
        "synchronize": lambda *_: None,
        "get_device_properties": lambda *_: _properties(),
        "get_device_name": lambda *_: _properties().name,
        "get_device_capability": lambda *_: (9, 4),
        "is_bf16_supported": lambda *_, **__: True,
        "device": lambda *_: nullcontext(),
        "_lazy_init": lambda: None,
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "set_rng_state": lambda *_: None,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    torch.version.hip = HIP_VERSION
