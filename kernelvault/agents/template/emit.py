"""Turns values at coordinates into C statements, each distinct value once a scope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelvault.agents.template import ctypes
from kernelvault.agents.template.dims import Shape, UnsupportedError, product
from kernelvault.agents.template.ir import (
    Constant,
    Contract,
    Gather,
    Load,
    Map,
    Permute,
    Reduce,
    Reshape,
    Slice,
    Squeeze,
    Unsqueeze,
    Value,
    Window,
)

_DEFINITION = re.compile(r"\s*const [\w:]+ (\w+) = ")


class NeedsBufferError(Exception):
    """A reduction or product is wanted where the kernel has not computed it: store it first."""

    def __init__(self, value: Value) -> None:
        super().__init__("needs a buffer")
        self.value = value


@dataclass(frozen=True, slots=True)
class Coords:
    """Coordinates in a tensor of `shape`; `flat` is their row-major index where it has a name.

    `origin` are the coordinates they were reshaped from, so that reshaping back costs nothing.
    """

    index: tuple[str, ...]
    shape: Shape
    flat: str | None = None
    origin: Coords | None = None


Bindings = dict[tuple[int, tuple[str, ...]], str]


class Emitter:
    """One scope of statements. `bound` holds what the kernel has computed already; `packed` maps
    tensors to registers that hold their element at the current flat index."""

    def __init__(self, bound: Bindings, prefix: str, packed: Mapping[str, str] | None = None):
        self.lines: list[str] = []
        self._bound = bound
        self._prefix = prefix
        self._packed = packed or {}
        self._names: Bindings = {}
        self._unravelled: dict[tuple[str, Shape], tuple[str, ...]] = {}
        self._count = 0

    def statements(self, keep: tuple[str, ...] = ()) -> list[str]:
        """The statements, without definitions that nothing uses (`keep`: texts that use some)."""
        kept: list[str] = []
        used = " ".join(keep)
        for line in reversed(self.lines):
            found = _DEFINITION.match(line)
            if found and not re.search(rf"\b{found[1]}\b", used):
                continue
            kept.append(line)
            used += " " + line
        return list(reversed(kept))

    def define(self, kind: str, text: str) -> str:
        """A new name for an expression."""
        name = f"{self._prefix}{self._count}"
        self._count += 1
        self.lines.append(f"const {kind} {name} = {text};")
        return name

    def unravel(self, flat: str, shape: Shape, origin: Coords | None = None) -> Coords:
        """The coordinates of a row-major index. Sizes of 1 do not matter, so that (n, 1) and (n)
        share their names."""
        sizes = tuple(size for size in shape if size != "1")
        names = self._unravelled.get((flat, sizes))
        if names is None:
            names = self._split(flat, sizes)
            self._unravelled[flat, sizes] = names
        waiting = iter(names)
        index = tuple("0" if size == "1" else next(waiting) for size in shape)
        return Coords(index, shape, flat, origin)

    def _split(self, flat: str, sizes: Shape) -> tuple[str, ...]:
        names: list[str] = []
        rest = flat
        for position in range(len(sizes) - 1, 0, -1):
            size = sizes[position]
            names.append(self.define("int64_t", f"{rest} % ({size})"))
            rest = self.define("int64_t", f"{rest} / ({size})")
        return (*([rest] if sizes else []), *reversed(names))

    def flat(self, coords: Coords) -> str:
        """The row-major index of coordinates."""
        if coords.flat is not None:
            return coords.flat
        text = "0"
        for name, size in zip(coords.index, coords.shape, strict=True):
            if size == "1":
                continue
            text = name if text == "0" else f"({text}) * ({size}) + {name}"
        return text

    def value(self, value: Value, coords: Coords) -> str:
        """A C name (or literal) for `value` at `coords`.

        Raises NeedsBufferError for a reduction or product that is not bound at these coordinates.
        """
        key = (id(value), coords.index)
        known = self._bound.get(key) or self._names.get(key)
        if known is None:
            known = self._names[key] = self._emit(value, coords)
        return known

    def _emit(self, value: Value, coords: Coords) -> str:
        if isinstance(value, Constant):
            return value.text
        if isinstance(value, Load):
            return self._load(value, coords)
        if isinstance(value, Map):
            args = [self.value(a, _broadcast(coords, value.shape, a.shape)) for a in value.args]
            text = value.template.format(*args)
            return text if text in args else self.define(ctypes.compute(value.dtype), text)
        if isinstance(value, Reduce | Contract):
            raise NeedsBufferError(value)
        if isinstance(value, Gather):
            return self._gather(value, coords)
        if isinstance(value, Window):
            return self._window(value, coords)
        arg: Value = value.arg  # type: ignore[attr-defined]
        return self.value(arg, self._moved(value, arg, coords))

    def _load(self, value: Load, coords: Coords) -> str:
        if value.name in self._packed and coords.flat == "e" and coords.shape == value.shape:
            element = self._packed[value.name]
        else:
            element = f"{value.name}[{self.flat(coords)}]"
        return self.define(ctypes.compute(value.dtype), ctypes.load(value.dtype, element))

    def _moved(self, value: Value, arg: Value, coords: Coords) -> Coords:
        """Coordinates in the argument of a view."""
        index = coords.index
        if isinstance(value, Permute):
            places = {dim: position for position, dim in enumerate(value.dims)}
            return Coords(tuple(index[places[d]] for d in range(len(index))), arg.shape)
        if isinstance(value, Reshape):
            if coords.origin is not None and coords.origin.shape == arg.shape:
                return coords.origin
            return self.unravel(self.flat(coords), arg.shape, coords)
        if isinstance(value, Squeeze):
            waiting = iter(index)
            moved = tuple("0" if d in value.dims else next(waiting) for d in range(len(arg.shape)))
            return Coords(moved, arg.shape, coords.flat)
        if isinstance(value, Unsqueeze):
            kept = tuple(name for d, name in enumerate(index) if d not in value.dims)
            return Coords(kept, arg.shape, coords.flat)
        if isinstance(value, Slice):
            moved_name = f"({index[value.dim]} * {value.step} + {value.start})"
            listed = list(index)
            listed[value.dim] = moved_name
            return Coords(tuple(listed), arg.shape)
        raise UnsupportedError(f"unsupported: {type(value).__name__}")

    def _gather(self, value: Gather, coords: Coords) -> str:
        if value.lead:
            rank = len(value.index.shape)
            where = Coords(coords.index[:rank], value.index.shape)
            rest = coords.index[rank:]
            index = (self.value(value.index, where), *rest)
        else:
            where = Coords(coords.index, value.index.shape, coords.flat)
            listed = list(coords.index)
            listed[value.dim] = self.value(value.index, where)
            index = tuple(listed)
        return self.value(value.arg, Coords(index, value.arg.shape))

    def _window(self, value: Window, coords: Coords) -> str:
        kind = ctypes.compute(value.dtype)
        *lead, y, x = coords.index
        result = "-INFINITY" if value.kind == "max" else "0.0f"
        for dy in range(value.kernel[0]):
            for dx in range(value.kernel[1]):
                row = f"{y} * {value.stride[0]} + {dy - value.padding[0]}"
                column = f"{x} * {value.stride[1]} + {dx - value.padding[1]}"
                at = (self.define("int64_t", row), self.define("int64_t", column))
                result = self._window_step(value, (*lead, *at), result)
        area = value.kernel[0] * value.kernel[1]
        return self.define(kind, f"{result} / {area}.0f") if value.kind == "mean" else result

    def _window_step(self, value: Window, index: tuple[str, ...], result: str) -> str:
        """One position of a window; with padding it may lie outside and is then skipped."""
        kind = ctypes.compute(value.dtype)
        if value.kind == "mean":
            item = self.value(value.arg, Coords(index, value.arg.shape))
            return self.define(kind, f"{result} + {item}")
        if not isinstance(value.arg, Load):
            raise NeedsBufferError(value.arg)
        height, width = value.arg.shape[-2:]
        y, x = index[-2:]
        inside = f"{y} >= 0 && {y} < ({height}) && {x} >= 0 && {x} < ({width})"
        element = f"{value.arg.name}[{self.flat(Coords(index, value.arg.shape))}]"
        item = f"({inside}) ? {ctypes.load(value.dtype, element)} : -INFINITY"
        return self.define(kind, f"kv_max({result}, {self.define(kind, item)})")


def _broadcast(coords: Coords, shape: Shape, wanted: Shape) -> Coords:
    """Coordinates in an argument that broadcasts to `shape`, aligned at the last dimension."""
    if wanted == shape:
        return coords
    tail = coords.index[len(shape) - len(wanted) :]
    full = shape[len(shape) - len(wanted) :]
    index = tuple(
        "0" if size == "1" and other != "1" else name
        for name, size, other in zip(tail, wanted, full, strict=True)
    )
    return Coords(index, wanted)


def same_size(a: Shape, b: Shape) -> bool:
    """Whether two shapes have the same number of elements for every value of the symbols."""
    return product(a) == product(b)
