"""An FX graph of core ATen as JSON: nodes in order, symbols renamed by where they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from kernelvault.problems.reference.reject import Rejected

_SYMBOL = re.compile(r"\b[su]\d+\b")
# Where a tensor lives is no part of what is computed.
_PLACEMENT = frozenset({"device", "pin_memory", "layout"})
_PLAIN_SYMBOL = re.compile(r"s\d+")


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for torch.float32."""
    return str(dtype).removeprefix("torch.")


class Encoder:
    """Encodes one graph; `symbols` is a list of [symbol, input index, dimension]."""

    def __init__(
        self, module: fx.GraphModule, inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self.by_name = {node.name: node for node in module.graph.nodes}
        self._inputs = list(inputs)
        self._outputs = list(outputs)
        self._renamed: dict[str, str] = {}
        self.symbols: list[list[Any]] = []
        for index, name in enumerate(self._inputs):
            for dim, size in enumerate(self.by_name[name].meta["val"].shape):
                text = str(size)
                if _PLAIN_SYMBOL.fullmatch(text) and text not in self._renamed:
                    self._renamed[text] = f"s{len(self._renamed)}"
                    self.symbols.append([self._renamed[text], index, dim])
        self.original = {new: old for old, new in self._renamed.items()}

    def dim(self, size: Any) -> int | str:
        """A shape entry: an int, or Python text over the renamed symbols."""
        if isinstance(size, int):
            return size
        text = str(size.node.expr) if isinstance(size, torch.SymInt) else str(size)
        for symbol in _SYMBOL.findall(text):
            if symbol not in self._renamed:
                step = "avoid shapes that depend on values"
                raise Rejected("unexportable", f"the size {text} depends on values", step)
        renamed = _SYMBOL.sub(lambda match: self._renamed[match.group()], text)
        return int(renamed) if re.fullmatch(r"-?\d+", renamed) else renamed

    def tensor(self, value: Any) -> dict[str, Any] | None:
        """dtype and shape of a node's value; None for tuples."""
        if not isinstance(value, torch.Tensor):
            return None
        return {"dtype": dtype_name(value.dtype), "shape": [self.dim(s) for s in value.shape]}

    def shape_of(self, name: str) -> dict[str, Any]:
        """dtype and shape of the node called `name`."""
        known = self.tensor(self.by_name[name].meta["val"])
        assert known is not None
        return known

    def argument(self, value: Any) -> Any:  # noqa: PLR0911  (one return per kind of value)
        """One node argument in the encoding of `spec.graph`."""
        if isinstance(value, fx.Node):
            known = value.meta.get("val")
            if isinstance(known, int | float | torch.SymInt | torch.SymFloat):
                return self._number(known)
            return {"node": value.name}
        if isinstance(value, list | tuple):
            return [self.argument(item) for item in value]
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, torch.SymInt | float):
            return self._number(value)
        if value is None or isinstance(value, bool | int | str):
            return value
        return str(value).removeprefix("torch.")

    def _number(self, value: Any) -> Any:
        if isinstance(value, torch.SymInt):
            size = self.dim(value)
            return size if isinstance(size, int) else {"sym": size}
        if isinstance(value, torch.SymFloat):
            return {"sym": self.dim(value)}
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        return value

    def nodes(self) -> list[dict[str, Any]]:
        """Calls that outputs depend on, in order; size arithmetic is folded into `sym` texts."""
        needed = self._reachable()
        encoded = []
        for name, node in self.by_name.items():
            if node.op != "call_function" or name not in needed:
                continue
            value = node.meta.get("val")
            if isinstance(value, int | float | torch.SymInt | torch.SymFloat | torch.SymBool):
                continue
            kwargs = [
                [key, self.argument(item)]
                for key, item in node.kwargs.items()
                if key not in _PLACEMENT
            ]
            encoded.append(
                {
                    "name": name,
                    "op": operator_name(node),
                    "args": [self.argument(item) for item in node.args],
                    "kwargs": kwargs,
                    "tensor": self.tensor(value),
                }
            )
        return encoded

    def _reachable(self) -> set[str]:
        waiting = [self.by_name[name] for name in self._outputs]
        seen: set[str] = set()
        while waiting:
            node = waiting.pop()
            if node.name not in seen:
                seen.add(node.name)
                waiting.extend(node.all_input_nodes)
        return seen


def operator_name(node: fx.Node) -> str:
    """`aten.add.Tensor`, or `getitem` for taking one of several results."""
    target = node.target
    return str(target) if isinstance(target, torch._ops.OpOverload) else str(target.__name__)  # type: ignore[union-attr]
