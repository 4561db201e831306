"""Launching a kernel: arguments typed as the compiled kernel's, programs one after the other."""

import inspect
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.jit import _normalize_ty, mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from .formats import encode
from .source import plain
from .values import handle, holder

SCALARS = {"fp16", "bf16", "fp32", "fp64", "i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16",
           "u32", "u64"}  # fmt: skip


def _number(value: Any, annotation: str) -> Any:
    """A scalar of the type that its annotation gives, or as the compiler types its value."""
    name = annotation if annotation in SCALARS else mangle_type(value)
    kind = tl.str_to_ty(name, None)
    if kind.is_floating():
        data = encode(np.array([value], dtype=np.float64), kind)
    else:
        data = np.array([int(value)]).astype(holder(kind))
    return tl.tensor(handle(data, kind), kind)


def _argument(value: Any, annotation: str = "") -> Any:
    """What the kernel sees of a runtime argument.

    Raises:
        TypeError: for a tensor that is not on the CPU.
    """
    value = plain(value)
    if isinstance(value, (bool, int, float)):
        return _number(value, annotation)
    if hasattr(value, "data_ptr"):
        base = interpreter._unwrap_tensor(value)
        if isinstance(base, torch.Tensor) and base.device.type != "cpu":
            raise TypeError(f"the interpreter takes tensors on the CPU, not on {base.device}")
        kind = tl.str_to_ty(mangle_type(value), None)
        return tl.tensor(handle(np.array([value.data_ptr()], dtype=np.uint64), kind), kind)
    if isinstance(value, tuple):
        return interpreter._tuple_create(value, map(_argument, value))
    if isinstance(value, TensorDescriptor):
        return interpreter.interpreter_semantic.make_tensor_descriptor(
            base=_argument(value.base),
            shape=[_argument(n) for n in value.shape],
            strides=[*(_argument(n) for n in value.strides[:-1]), tl.constexpr(1)],
            block_shape=[tl.constexpr(n) for n in value.block_shape],
            padding_option=value.padding,
        )
    return value


def grid_of(grid: Any, arguments: dict[str, Any]) -> tuple[int, int, int]:
    """Programs along the three axes of a launch."""
    shape = grid(arguments) if callable(grid) else grid
    shape = tuple(int(plain(n)) for n in (shape if hasattr(shape, "__iter__") else (shape,)))
    if len(shape) > 3 or min(shape, default=1) < 0:
        raise ValueError(f"a grid has up to three sizes, not {shape}")
    x, y, z = (*shape, 1, 1, 1)[:3]
    return x, y, z


def launch(self: Any, *arguments: Any, **options: Any) -> None:
    """Run all programs of a launch; exceptions of the kernel pass unchanged.

    Names among `options` that are no parameters (`num_warps`, ...) are the compiler's.
    """
    parameters = inspect.signature(self.fn).parameters
    named = {name: value for name, value in options.items() if name in parameters}
    for hook in self.pre_run_hooks:
        hook(*arguments, **named)
    given = inspect.getcallargs(self.fn, *arguments, **named)
    shape = grid_of(self.grid, given)
    annotations = {name: _normalize_ty(p.annotation) if p.annotation is not p.empty else ""
                   for name, p in parameters.items()}  # fmt: skip
    typed = {
        name: plain(value)
        if "constexpr" in annotations[name] or isinstance(value, tl.constexpr)
        else _argument(value, annotations[name])
        for name, value in given.items()
    }
    builder = interpreter.interpreter_builder
    builder.set_grid_dim(*shape)
    with np.errstate(all="ignore"):
        for x in range(shape[0]):
            for y in range(shape[1]):
                for z in range(shape[2]):
                    builder.grid_idx = (x, y, z)
                    self.fn(**typed)


def call(self: Any, *arguments: Any, **options: Any) -> Any:
    """A kernel's call of another jitted function; exceptions pass unchanged."""
    return self.rewrite()(*arguments, **options)
