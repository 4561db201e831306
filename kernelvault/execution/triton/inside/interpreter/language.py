"""The language's functions bound to the interpreter, once for the process.

The stock interpreter binds them again for each launch and each call of a nested function, which
costs more than most small kernels.
"""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.extra import libdevice as generic_libdevice
from triton.language.extra.hip import libdevice as hip_libdevice
from triton.language.extra.hip import utils as hip_utils
from triton.runtime import interpreter

from . import combine
from .contract import Type
from .extern import missing
from .report import write_line
from .source import Helpers
from .values import tensor


def _bind(function: Any) -> Callable[..., Any]:
    semantic = interpreter.interpreter_semantic
    inner = getattr(function, "__wrapped__", function)

    def call(*arguments: Any, **options: Any) -> Any:
        options["_semantic"] = semantic
        return inner(*arguments, **options)

    call.__name__ = getattr(function, "__name__", "call")
    return call


class _Binder:
    """Replaces functions of modules and classes and remembers by what."""

    def __init__(self) -> None:
        # by id: the original, which must live so that its id stays its own, and what replaced it
        self.replaced: dict[int, tuple[Any, Any]] = {}

    def put(self, owner: Any, name: str, value: Any) -> None:
        original = inspect.getattr_static(owner, name, None)
        if isinstance(owner, ModuleType) and original is not None:
            self.replaced[id(original)] = (original, value)
        setattr(owner, name, value)

    def bind(self, owner: Any) -> None:
        """Bind all builtins of a module or class."""
        for name, member in inspect.getmembers(owner):
            if tl.core.is_builtin(member):
                _, known = self.replaced.get(id(member), (None, None))
                self.put(owner, name, known or _bind(member))


def _scalar(self: Any) -> int:
    return int(self.handle.data.reshape(-1)[0])


def _bool(self: Any) -> bool:
    """Scalars have a truth value; for blocks the language's own code asks only `is it there`."""
    data = getattr(self.handle, "data", None)
    return bool(data.reshape(-1)[0]) if isinstance(data, np.ndarray) and data.size == 1 else True


def _transposed(self: Any) -> Any:
    data = self.handle.data
    return tensor(np.swapaxes(data, -1, -2), self.dtype)


def _to_ir(self: Type, builder: Any) -> Type:
    return self


def _static_range(arg1: Any, arg2: Any = None, step: Any = None, **options: Any) -> range:
    start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
    return range(*(int(getattr(v, "value", v)) for v in (start, stop, step or 1)))


def _static_assert(condition: Any, message: Any = "") -> None:
    if not getattr(condition, "value", condition):
        raise AssertionError(f"static assertion failed: {getattr(message, 'value', message)}")


def _hint(value: Any, values: Any) -> Any:
    """`multiple_of` and its like tell the compiler something; they change no value."""
    return value


def bind_language() -> dict[int, tuple[Any, Any]]:
    """Patch the language; return originals and replacements by the id of the original."""
    binder = _Binder()
    for owner in (tl.core, tl, tl.math, tl.tensor, tl.core.tensor_descriptor_base):
        binder.bind(owner)
    for owner in (tl.core, tl):
        binder.put(owner, "range", Helpers.count)
        binder.put(owner, "static_range", _static_range)
        binder.put(owner, "static_assert", _static_assert)
        binder.put(owner, "static_print", write_line)
        for name in ("multiple_of", "max_contiguous", "max_constancy"):
            binder.put(owner, name, _hint)
        for name in ("reduce", "associative_scan", "map_elementwise"):
            binder.put(owner, name, getattr(combine, name))
    scaled = tl.core.dot_scaled

    def dot_scaled(a: Any, a_scale: Any, a_style: Any, b: Any, b_scale: Any, b_style: Any,
                   *rest: Any, **options: Any) -> Any:  # fmt: skip
        styles = (tl.constexpr(a_style), tl.constexpr(b_style))  # the language reads `.value`
        return scaled(a, a_scale, styles[0], b, b_scale, styles[1], *rest, **options)

    for owner in (tl.core, tl):
        binder.put(owner, "dot_scaled", dot_scaled)
    for name in ("reduce", "associative_scan"):
        setattr(tl.tensor, name, getattr(combine, name))
    for name, value in (("__index__", _scalar), ("__int__", _scalar), ("__bool__", _bool),
                        ("T", property(_transposed))):  # fmt: skip
        setattr(tl.tensor, name, value)
    tl.dtype.to_ir = _to_ir
    _bind_libdevice(binder)
    return binder.replaced


def _bind_libdevice(binder: _Binder) -> None:
    binder.bind(hip_libdevice)
    binder.bind(hip_utils)
    for name, member in inspect.getmembers(generic_libdevice, inspect.isfunction):
        if member.__module__ == generic_libdevice.__name__:
            binder.put(generic_libdevice, name, getattr(hip_libdevice, name, missing(name)))
