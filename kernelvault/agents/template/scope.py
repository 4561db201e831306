"""Values by node name while a graph is lowered, and how to read a node's arguments."""

from __future__ import annotations

from typing import Any

from kernelvault.agents.template import ops
from kernelvault.agents.template.dims import Shape, UnsupportedError, c_shape, c_size
from kernelvault.agents.template.ir import Constant, Value
from kernelvault.spec.graph import GraphNode

Lowered = Value | tuple[Value | None, ...]


class Scope:
    """What the nodes so far have become; tuple results are tuples of values."""

    def __init__(self) -> None:
        self.values: dict[str, Lowered] = {}

    def value(self, argument: Any) -> Value:
        """The value of a tensor argument; a number becomes a constant."""
        if isinstance(argument, dict) and "node" in argument:
            found = self.values[argument["node"]]
            if isinstance(found, Value):
                return found
            raise UnsupportedError("unsupported: a tuple used as a tensor")
        return number(argument)


def number(argument: Any, dtype: str | None = None) -> Constant:
    """A literal of the graph as a C constant."""
    if isinstance(argument, dict) and "sym" in argument:
        return Constant((), dtype or "int64", c_size(argument["sym"]))
    return Constant((), dtype or "float32", ops.literal(argument))


def result_type(node: GraphNode) -> tuple[Shape, str]:
    """Shape and dtype of a node with one result."""
    if node.tensor is None:
        raise UnsupportedError(f"unsupported: {node.op} with several results")
    return c_shape(node.tensor.shape), node.tensor.dtype


def argument(node: GraphNode, position: int, name: str, default: Any = None) -> Any:
    """A positional or keyword argument of a node."""
    if position < len(node.args):
        return node.args[position]
    return dict(node.kwargs).get(name, default)


def dimensions(dims: Any, rank: int) -> tuple[int, ...]:
    """Normalised dimensions; none at all means every dimension."""
    listed = [dims] if isinstance(dims, int) else list(dims or range(rank))
    return tuple(sorted(dim % rank for dim in listed)) if rank else ()
