"""From an operator graph as plain data to an FX graph with symbolic sizes on the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._dynamo.source import ConstantSource
from torch._guards import TracingContext, tracing
from torch._inductor.decomposition import select_decomp_table
from torch._subclasses import FakeTensorMode
from torch.fx import traceback as fx_traceback
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from kernelvault.agents.inductor.writer.errors import UnsupportedError

# Sizes that stand for the open ones where Inductor weighs costs, by how many are open: none is a
# power of two's neighbour by chance, and all together they stay within 32-bit indices.
_HINTS = {1: (1024,), 2: (1024, 768), 3: (96, 256, 160), 4: (16, 48, 40, 56)}
_MANY = (8, 24, 12, 20, 16, 28, 10, 18)


@dataclass(frozen=True)
class Traced:
    """An FX graph over fake tensors, its arguments, and how symbols are called: theirs -> ours."""

    module: fx.GraphModule
    arguments: list[torch.Tensor]
    mode: FakeTensorMode
    symbols: Mapping[str, str]


def trace(graph: Mapping[str, Any], domain: Mapping[str, Any]) -> Traced:
    """Trace `graph` (as JSON of `spec.graph.Graph`) over the whole domain; raises UnsupportedError.

    `domain` maps each symbol to [minimum, maximum or None].
    """
    env = ShapeEnv(duck_shape=False)
    mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    sizes = _symbols(graph, domain, env)
    with tracing(TracingContext(mode)), mode, torch.no_grad(), fx_traceback.preserve_node_meta():
        arguments = [_tensor(entry["tensor"], sizes) for entry in graph["inputs"]]
        module = make_fx(_callable(graph), decomposition_table=select_decomp_table())(*arguments)
    names = {str(size.node.expr): symbol for symbol, size in sizes.items()}
    if len(names) != len(sizes) or any(not name.startswith("s") for name in names):
        raise UnsupportedError("an operator only works for some sizes of the domain")
    return Traced(module, arguments, mode, names)


def _symbols(
    graph: Mapping[str, Any], domain: Mapping[str, Any], env: ShapeEnv
) -> dict[str, torch.SymInt]:
    names = [symbol for symbol, _, _ in graph["symbols"]]
    hints = _HINTS.get(len(names), _MANY)
    found: dict[str, torch.SymInt] = {}
    for place, name in enumerate(names):
        low, high = domain[name]
        hint = max(hints[place % len(hints)], low)
        hint = hint if high is None else min(hint, high)
        source = ConstantSource(name)
        symbol = env.create_symbol(hint, source, dynamic_dim=DimDynamic.DYNAMIC)
        size = env.create_symintnode(symbol, hint=hint, source=source)
        if not isinstance(size, torch.SymInt):
            raise UnsupportedError(f"the domain leaves {name} only one size")
        found[name] = size
    return found


def evaluate(expression: str, sizes: Mapping[str, Any]) -> Any:
    """The value of a size expression in Python syntax over symbols."""
    names = {"__builtins__": {}, "Max": torch.sym_max, "Min": torch.sym_min, **sizes}
    try:
        return eval(expression, names)
    except (NameError, SyntaxError, TypeError) as error:
        raise UnsupportedError(f"cannot read the size {expression!r}") from error


def _tensor(known: Mapping[str, Any], sizes: Mapping[str, torch.SymInt]) -> torch.Tensor:
    shape = [d if isinstance(d, int) else evaluate(d, sizes) for d in known["shape"]]
    strides: list[Any] = []
    step: Any = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step = step * size
    dtype = getattr(torch, known["dtype"])
    return torch.empty_strided(shape, strides, dtype=dtype, device="cuda")


def _callable(graph: Mapping[str, Any]) -> Callable[..., tuple[torch.Tensor, ...]]:
    def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        entries = graph["inputs"]
        values: dict[str, Any] = {e["name"]: t for e, t in zip(entries, tensors, strict=True)}
        sizes = {name: tensors[index].shape[dim] for name, index, dim in graph["symbols"]}
        for node in graph["nodes"]:
            values[node["name"]] = _call(node, values, sizes)
        return _outputs([values[name] for name in graph["outputs"]], tensors)

    return run


def _call(node: Mapping[str, Any], values: Mapping[str, Any], sizes: Mapping[str, Any]) -> Any:
    args = [_argument(value, values, sizes) for value in node["args"]]
    if node["op"] == "getitem":
        return args[0][args[1]]
    named = {key: _argument(value, values, sizes) for key, value in node["kwargs"]}
    try:
        space, name, overload = node["op"].split(".")
        operator = getattr(getattr(getattr(torch.ops, space), name), overload)
    except (ValueError, AttributeError) as error:
        raise UnsupportedError(f"unknown operator {node['op']}") from error
    if "memory_format" in named:
        named["memory_format"] = getattr(torch, named["memory_format"])
    if any(argument.name == "device" for argument in operator._schema.arguments):
        named["device"] = "cuda"  # a graph does not say where new tensors live
    return operator(*args, **named)


def _argument(value: Any, values: Mapping[str, Any], sizes: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_argument(item, values, sizes) for item in value]
    if not isinstance(value, dict):
        return value
    if "node" in value:
        return values[value["node"]]
    if "sym" in value:
        return evaluate(value["sym"], sizes)
    if "dtype" in value:
        return getattr(torch, value["dtype"])
    return float(value["float"])


def _outputs(
    found: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Outputs as the contract wants them: dense, and no view of an input or of one another."""
    taken = {tensor.untyped_storage()._cdata for tensor in inputs}
    kept = []
    for tensor in found:
        alone = tensor.untyped_storage()._cdata not in taken and tensor.is_contiguous()
        kept.append(tensor if alone else _dense(tensor))
        taken.add(kept[-1].untyped_storage()._cdata)
    return tuple(kept)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    dense: torch.Tensor = torch.ops.aten.clone.default(
        tensor, memory_format=torch.contiguous_format
    )
    return dense
