"""The operator graph of a problem: core ATen nodes as plain data, with no torch in sight.

Symbols (`s0`, `s1`, ...) stand for input dimensions that the domain leaves open; every shape entry
is an int or an integer expression over symbols, written in Python syntax (`"2*s0 + 1"`, `"s0//2"`).

Arguments of a node are JSON: numbers, strings, booleans, None, lists, and the tagged objects
`{"node": NAME}`, `{"sym": EXPRESSION}`, `{"dtype": NAME}`, `{"float": "inf" | "-inf" | "nan"}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Dim = int | str


@dataclass(frozen=True, slots=True)
class GraphTensor:
    """What is known about a node's value: dtype and (possibly symbolic) shape."""

    dtype: str
    shape: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class GraphInput:
    """A tensor argument of the functional form; `index` is its place in `kv_args.inputs`."""

    name: str
    kind: str  # user | parameter | buffer | constant
    index: int
    tensor: GraphTensor


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One core ATen call. `op` is e.g. `aten.add.Tensor`; `tensor` is None for tuple results."""

    name: str
    op: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]
    tensor: GraphTensor | None


@dataclass(frozen=True, slots=True)
class Graph:
    """`symbols` maps each symbol to (input index, dimension); `outputs` are node or input names."""

    inputs: tuple[GraphInput, ...]
    nodes: tuple[GraphNode, ...]
    outputs: tuple[str, ...]
    symbols: tuple[tuple[str, int, int], ...]
