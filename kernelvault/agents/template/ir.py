"""The loop-level form of a graph: what each value is at given coordinates.

Values are compared by identity: a value used twice is one node of a DAG.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernelvault.agents.template.dims import Shape


@dataclass(frozen=True, eq=False)
class Value:
    """Something with a shape (C expressions) and a dtype."""

    shape: Shape
    dtype: str


@dataclass(frozen=True, eq=False)
class Load(Value):
    """A dense row-major tensor in memory: an input, or a workspace buffer."""

    name: str


@dataclass(frozen=True, eq=False)
class Constant(Value):
    """One number, the same at every coordinate; `text` is C."""

    text: str


@dataclass(frozen=True, eq=False)
class Map(Value):
    """An elementwise expression; `{0}`, `{1}` in `template` are the arguments' values.

    Arguments broadcast against the result, aligned at the last dimension.
    """

    template: str
    args: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Permute(Value):
    """Dimension i of the result is dimension `dims[i]` of the argument."""

    arg: Value
    dims: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Reshape(Value):
    """The same elements in row-major order under another shape."""

    arg: Value


@dataclass(frozen=True, eq=False)
class Squeeze(Value):
    """The argument without its dimensions `dims`, all of size 1."""

    arg: Value
    dims: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Unsqueeze(Value):
    """The argument with new dimensions of size 1; `dims` are positions in the result."""

    arg: Value
    dims: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Slice(Value):
    """Every `step`-th element of dimension `dim`, beginning at `start`."""

    arg: Value
    dim: int
    start: int
    step: int


@dataclass(frozen=True, eq=False)
class Gather(Value):
    """The argument with coordinate `dim` read from `index`.

    `index` has the result's first `index_rank` coordinates if `lead`, else all of them.
    """

    arg: Value
    index: Value
    dim: int
    lead: bool


@dataclass(frozen=True, eq=False)
class Window(Value):
    """A pooling window over the last two dimensions: `max`, or `mean` of what `divisor` counts."""

    arg: Value
    kind: str
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Reduce(Value):
    """`sum`, `max` or `min` over `dims` of the argument, which the result lacks."""

    kind: str
    arg: Value
    dims: tuple[int, ...]

    @property
    def inner(self) -> Shape:
        return tuple(size for i, size in enumerate(self.arg.shape) if i in self.dims)


@dataclass(frozen=True, eq=False)
class Contract(Value):
    """A (batched) matrix product: `a` is (..., M, K), `b` is (..., K, N)."""

    a: Value
    b: Value

    @property
    def depth(self) -> str:
        return self.a.shape[-1]


def children(value: Value) -> tuple[Value, ...]:
    """The values a value is computed from."""
    if isinstance(value, Map):
        return value.args
    if isinstance(value, Gather):
        return (value.arg, value.index)
    if isinstance(value, Contract):
        return (value.a, value.b)
    arg = getattr(value, "arg", None)
    return (arg,) if isinstance(arg, Value) else ()


def walk(value: Value) -> Iterator[Value]:
    """Every value below and including `value`, each once, arguments first."""
    seen: set[int] = set()
    stack: list[tuple[Value, bool]] = [(value, False)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))
