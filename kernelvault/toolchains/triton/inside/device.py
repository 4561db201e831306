"""A GPU for a PyTorch that has none: tensors say `cuda:0` and live in host memory or nowhere.

A candidate must not be able to tell tiers apart, and public code asks for "cuda" by name, asserts
`x.is_cuda` and reads device properties. Nothing here computes.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

DEVICE = torch.device("cuda", 0)


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Published figures of an architecture: compute units, LDS bytes per workgroup, memory."""

    compute_units: int
    lds_bytes: int
    memory_bytes: int
    capability: tuple[int, int]


# AMD's CDNA2, CDNA3 and CDNA4 data sheets: MI250X (one die), MI300X, MI355X.
FACTS = {
    "gfx90a": DeviceFacts(110, 65536, 64 << 30, (9, 0)),
    "gfx942": DeviceFacts(304, 65536, 192 << 30, (9, 4)),
    "gfx950": DeviceFacts(256, 163840, 288 << 30, (9, 5)),
}

_CLAIMS = {"device": DEVICE, "is_cuda": True, "is_cpu": False, "is_meta": False}
# What tensors say of themselves, by the function that a mode is called with.
_LIES: dict[Any, Any] = {
    **{vars(torch._C.TensorBase)[name].__get__: value for name, value in _CLAIMS.items()},
    torch.Tensor.get_device: 0,
}
_ALLOCATORS: dict[Any, str] = {
    torch.empty: "empty",
    torch.empty_like: "empty",
    torch.empty_strided: "empty",
    torch.empty_permuted: "empty",
    torch.Tensor.new_empty: "empty",
    torch.Tensor.new_empty_strided: "empty",
    torch.zeros: "filled",
    torch.zeros_like: "filled",
    torch.Tensor.new_zeros: "filled",
    torch.ones: "filled",
    torch.ones_like: "filled",
    torch.Tensor.new_ones: "filled",
    torch.full: "filled",
    torch.full_like: "filled",
    torch.Tensor.new_full: "filled",
}

# Reading values out of a tensor; none of these reaches ATen.
_READS = frozenset(
    getattr(torch.Tensor, name)
    for name in ("numpy", "tolist", "item", "__array__", "__dlpack__", "cpu", "data_ptr")
)

Allocate = Callable[[str, Callable[[], torch.Tensor]], torch.Tensor]


class HostComputeError(Exception):
    """A candidate's host code computed with tensors, or read their values."""


class Paused:
    """Whether the modes look on; launches run with them paused."""

    def __init__(self) -> None:
        self.depth = 0

    @contextlib.contextmanager
    def __call__(self) -> Any:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def watched(self, call: Any) -> Any:
        """`call` with the modes looking on again: the candidate's code inside a launch."""
        if not callable(call):
            return call

        def resumed(*args: Any, **kwargs: Any) -> Any:
            depth, self.depth = self.depth, 0
            try:
                # Copies: what is passed on must not be what the candidate may change.
                own = [dict(value) if isinstance(value, dict) else value for value in args]
                return call(*own, **kwargs)
            finally:
                self.depth = depth

        return resumed


class DeviceMode(TorchFunctionMode):
    """Sends requests for a GPU to `real` and lies about where tensors are.

    `allocate(kind, make)` may replace what an allocation gives (`kind` is empty or filled).
    """

    def __init__(self, real: str, paused: Paused, allocate: Allocate | None = None) -> None:
        super().__init__()
        self._real = torch.device(real)
        self._paused = paused
        self._allocate = allocate

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if self._paused.depth:
            return func(*args, **kwargs)
        if func in _LIES:
            return _LIES[func]
        if func in _READS:
            raise HostComputeError(f"calls {func.__name__} on a tensor: its data is on the device")
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if func is torch.Tensor.to:
            args = tuple(self._placed(value) for value in args)
        if kwargs.get("device") is not None:
            kwargs["device"] = self._placed(kwargs["device"])
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        kind = _ALLOCATORS.get(func)
        if kind is None:
            return func(*args, **kwargs)
        if kwargs.get("device") is None and not (args and isinstance(args[0], torch.Tensor)):
            kwargs["device"] = self._real  # a host tensor would be no place for a kernel to write
        if self._allocate is None:
            return func(*args, **kwargs)
        with self._paused():
            return self._allocate(kind, lambda: func(*args, **kwargs))

    def _placed(self, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return self._real
        if isinstance(value, str | torch.device):
            try:
                device = torch.device(value)
            except RuntimeError:
                return value
            return self._real if device.type in ("cuda", "hip") else value
        return value


class _Nothing(contextlib.nullcontext[None]):
    """Streams, events and device guards that do nothing."""

    cuda_stream = 0
    idx = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


def install(arch: str) -> None:
    """Make torch.cuda answer as if `arch` were the one device; raises KeyError for unknown ones."""
    facts = FACTS[arch]
    properties = types.SimpleNamespace(
        name=f"AMD {arch}",
        gcnArchName=f"{arch}:sramecc+:xnack-",
        multi_processor_count=facts.compute_units,
        warp_size=64,
        total_memory=facts.memory_bytes,
        major=facts.capability[0],
        minor=facts.capability[1],
        shared_memory_per_block=facts.lds_bytes,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        L2_cache_size=4 << 20,
    )
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "get_device_properties": lambda *args: properties,
        "get_device_name": lambda *args: properties.name,
        "get_device_capability": lambda *args: facts.capability,
        "is_initialized": lambda: True,
        "_lazy_init": lambda: None,
        "is_bf16_supported": lambda *args, **kwargs: True,
        "current_stream": _Nothing,
        "device": _Nothing,
        "device_of": _Nothing,
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, value)
    torch.version.hip = "7.1.0"
