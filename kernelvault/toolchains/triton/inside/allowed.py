"""Watches every ATen call of a candidate's host code: allocation, views and copies of layout pass,
anything else is tensor computation outside a kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelvault.toolchains.triton.inside.device import HostComputeError, Paused

_ALLOCATION = """empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros
    zeros_like new_zeros ones ones_like new_ones full full_like new_full fill_ zero_ scalar_tensor
    lift_fresh""".split()
_VIEWS = """view _unsafe_view _reshape_alias reshape transpose t permute expand squeeze unsqueeze
    slice select as_strided unfold split split_with_sizes chunk unbind alias detach diagonal narrow
    movedim resize_""".split()
_LAYOUT = ["clone", "copy_", "contiguous", "_to_copy"]
_ALLOWED = frozenset((*_ALLOCATION, *_VIEWS, *_LAYOUT))


class AllowedMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts allowed ATen calls, and raises HostComputeError on any other; both are kept.

    While `building` is set, everything passes: a model may initialise its parameters.
    """

    def __init__(self, paused: Paused) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._paused = paused
        self.building = False
        self.suppress_fills = False  # in a replay without launches nothing may be written
        self.calls: dict[str, int] = {}
        self.refused: list[str] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; skipping would make PyTorch import its compiler."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._paused.depth or self.building:
            return func(*args, **kwargs)
        name = func._schema.name.removeprefix("aten::")
        self.calls[name] = self.calls.get(name, 0) + 1
        if self.suppress_fills and name in ("zero_", "fill_"):
            return args[0]
        if name.startswith("sym_") or (name in _ALLOWED and not _converts(name, args, kwargs)):
            return func(*args, **kwargs)
        self.refused.append(name)
        if name == "_local_scalar_dense":
            raise HostComputeError("reads a tensor's value on the host")
        raise HostComputeError(f"computes aten.{name} outside a kernel")

    @contextlib.contextmanager
    def model_building(self) -> Iterator[None]:
        """Let everything pass meanwhile."""
        self.building = True
        try:
            yield
        finally:
            self.building = False


def _converts(name: str, args: Any, kwargs: Any) -> bool:
    """Whether a copy also changes the dtype, which is computation."""
    if name == "_to_copy":
        return kwargs.get("dtype") not in (None, args[0].dtype)
    if name == "copy_":
        return not isinstance(args[1], torch.Tensor) or args[0].dtype != args[1].dtype
    return False
