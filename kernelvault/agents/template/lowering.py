"""Lowers a core ATen graph to loop-level values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelvault.agents.template import normal, ops
from kernelvault.agents.template.dims import Shape, UnsupportedError, c_shape
from kernelvault.agents.template.ir import (
    Contract,
    Gather,
    Load,
    Map,
    Permute,
    Reshape,
    Slice,
    Squeeze,
    Unsqueeze,
    Value,
    Window,
)
from kernelvault.agents.template.scope import (
    Lowered,
    Scope,
    argument,
    dimensions,
    number,
    result_type,
)
from kernelvault.spec.graph import Graph, GraphNode


def lower(graph: Graph) -> tuple[Value, ...]:
    """One value per graph output. Raises UnsupportedError naming the operator that has no rule."""
    scope = Scope()
    for item in graph.inputs:
        shape = c_shape(item.tensor.shape)
        scope.values[item.name] = Load(shape, item.tensor.dtype, f"in{item.index}")
    for node in graph.nodes:
        scope.values[node.name] = _lower_node(scope, node)
    outputs = [scope.values[name] for name in graph.outputs]
    if any(isinstance(output, tuple) for output in outputs):
        raise UnsupportedError("unsupported: an output that is a tuple")
    return tuple(output for output in outputs if isinstance(output, Value))


def _lower_node(low: Scope, node: GraphNode) -> Lowered:
    rule = _RULES.get(node.op)
    if rule is not None:
        return rule(low, node)
    template = ops.POINTWISE.get(node.op)
    if template is None:
        raise UnsupportedError(f"unsupported: {node.op}")
    tensors = [a for a in node.args if isinstance(a, dict) and "node" in a]
    values = tuple(low.value(a) for a in tensors)
    shape, dtype = result_type(node)
    text = template(node, [f"{{{i}}}" for i in range(len(values))])
    return Map(shape, dtype, text, values)


# ------------------------------------------------------------------ rules
def _same(low: Scope, node: GraphNode) -> Value:
    """Copies and casts: the same number under another dtype."""
    shape, dtype = result_type(node)
    return Map(shape, dtype, "{0}", (low.value(node.args[0]),))


def _alias(low: Scope, node: GraphNode) -> Value:
    return low.value(node.args[0])


def _getitem(low: Scope, node: GraphNode) -> Value:
    name, index = node.args[0]["node"], node.args[1]
    found = low.values[name]
    item: Value | None = found[index] if isinstance(found, tuple) else None
    if item is None:
        raise UnsupportedError(f"unsupported: result {index} of {name}")
    return item


def _scalar_tensor(low: Scope, node: GraphNode) -> Value:
    _, dtype = result_type(node)
    return number(node.args[0], dtype)


def _full(low: Scope, node: GraphNode) -> Value:
    shape, dtype = result_type(node)
    return Map(shape, dtype, "{0}", (number(node.args[1], dtype),))


def _permute(low: Scope, node: GraphNode) -> Value:
    arg = low.value(node.args[0])
    rank = len(arg.shape)
    if node.op == "aten.transpose.int":
        order = list(range(rank))
        a, b = node.args[1] % rank, node.args[2] % rank
        order[a], order[b] = b, a
    elif node.op == "aten.t.default":
        order = list(reversed(range(rank)))
    else:
        order = [dim % rank for dim in node.args[1]]
    shape, dtype = result_type(node)
    return Permute(shape, dtype, arg, tuple(order))


def _reshape(low: Scope, node: GraphNode) -> Value:
    shape, dtype = result_type(node)
    return Reshape(shape, dtype, low.value(node.args[0]))


def _expand(low: Scope, node: GraphNode) -> Value:
    return _same(low, node)  # a Map broadcasts its arguments


def _squeeze(low: Scope, node: GraphNode) -> Value:
    shape, dtype = result_type(node)
    arg = low.value(node.args[0])
    dims = dimensions(argument(node, 1, "dim"), len(arg.shape))
    return Squeeze(shape, dtype, arg, tuple(dim for dim in dims if arg.shape[dim] == "1"))


def _unsqueeze(low: Scope, node: GraphNode) -> Value:
    shape, dtype = result_type(node)
    return Unsqueeze(shape, dtype, low.value(node.args[0]), (node.args[1] % len(shape),))


def _slice(low: Scope, node: GraphNode) -> Value:
    shape, dtype = result_type(node)
    arg = low.value(node.args[0])
    dim, start = argument(node, 1, "dim", 0) % len(arg.shape), argument(node, 2, "start") or 0
    step = argument(node, 4, "step", 1)
    if not isinstance(start, int) or start < 0 or not isinstance(step, int):
        raise UnsupportedError("unsupported: a slice with symbolic bounds")
    return Slice(shape, dtype, arg, dim, start, step)


def _matmul(low: Scope, node: GraphNode) -> Value:
    shape, dtype = result_type(node)
    values = [low.value(a) for a in node.args]
    if node.op != "aten.addmm.default":
        return Contract(shape, dtype, *values)
    beta, alpha = (dict(node.kwargs).get(name, 1) for name in ("beta", "alpha"))
    product_ = Contract(shape, dtype, values[1], values[2])
    text = f"({ops.literal(alpha)} * {{0}} + {ops.literal(beta)} * {{1}})"
    if (alpha, beta) == (1, 1):
        text = "({0} + {1})"
    return Map(shape, dtype, text, (product_, values[0]))


def _embedding(low: Scope, node: GraphNode) -> Value:
    shape, dtype = result_type(node)
    return Gather(shape, dtype, low.value(node.args[0]), low.value(node.args[1]), 0, True)


def _gather(low: Scope, node: GraphNode) -> Value:
    shape, dtype = result_type(node)
    arg = low.value(node.args[0])
    dim = node.args[1] % len(arg.shape)
    return Gather(shape, dtype, arg, low.value(node.args[2]), dim, False)


def _pair(value: Any, default: tuple[int, int]) -> tuple[int, int]:
    items = list(value) if value else list(default)
    return (int(items[0]), int(items[-1]))


def _pool(low: Scope, node: GraphNode) -> Value:
    kernel = _pair(node.args[1], (1, 1))
    stride = _pair(argument(node, 2, "stride"), kernel)
    padding = _pair(argument(node, 3, "padding"), (0, 0))
    mean_kind = node.op == "aten.avg_pool2d.default"
    # avg_pool2d: ceil_mode, count_include_pad, divisor; max_pool2d: dilation, ceil_mode.
    extra = list(node.args[4:])
    plain = extra in ([], [False], [False, True], [[1, 1]], [[1, 1], False])
    if not plain or dict(node.kwargs) or (mean_kind and padding != (0, 0)):
        raise UnsupportedError(f"unsupported: {node.op} with these options")
    shape = c_shape(node.tensor.shape) if node.tensor else ()
    kind = "mean" if mean_kind else "max"
    arg = low.value(node.args[0])
    return Window(shape or _pooled(arg, kernel, stride, padding), arg.dtype, arg, kind, kernel,
                  stride, padding)  # fmt: skip


def _pooled(arg: Value, kernel: tuple[int, int], stride: tuple[int, int],
            padding: tuple[int, int]) -> Shape:  # fmt: skip
    spatial = [
        f"(({size} + {2 * p - k}) / {s} + 1)"
        for size, k, s, p in zip(arg.shape[-2:], kernel, stride, padding, strict=True)
    ]
    return (*arg.shape[:-2], *spatial)


def _max_pool(low: Scope, node: GraphNode) -> tuple[Value | None, ...]:
    return (_pool(low, node), None)


_Rule = Callable[[Scope, GraphNode], Lowered]

_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("aten.clone.default", "aten._to_copy.default"), _same),
    **dict.fromkeys(("aten.alias.default", "aten.detach.default"), _alias),
    **dict.fromkeys(("aten.permute.default", "aten.transpose.int", "aten.t.default"), _permute),
    **dict.fromkeys(
        ("aten.view.default", "aten._unsafe_view.default", "aten.reshape.default"), _reshape
    ),
    **dict.fromkeys(("aten.squeeze.dims", "aten.squeeze.dim"), _squeeze),
    **dict.fromkeys(
        (
            *("aten.sum.dim_IntList", "aten.sum.default", "aten.mean.dim", "aten.mean.default"),
            *("aten.amax.default", "aten.amin.default"),
        ),
        normal.reduction,
    ),
    **dict.fromkeys(("aten._softmax.default", "aten._log_softmax.default"), normal.softmax),
    **dict.fromkeys(("aten.mm.default", "aten.bmm.default", "aten.addmm.default"), _matmul),
    "aten.expand.default": _expand,
    "aten.unsqueeze.default": _unsqueeze,
    "aten.slice.Tensor": _slice,
    "aten.scalar_tensor.default": _scalar_tensor,
    "aten.full.default": _full,
    "aten.var.correction": normal.variance,
    "aten.native_layer_norm.default": normal.layer_norm,
    "aten.native_group_norm.default": normal.group_norm,
    "aten.embedding.default": _embedding,
    "aten.gather.default": _gather,
    "aten.avg_pool2d.default": _pool,
    "aten.max_pool2d_with_indices.default": _max_pool,
    "getitem": _getitem,
}
