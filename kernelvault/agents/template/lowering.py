"""Lowers a core ATen graph to loop-level values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelvault.agents.template import ops
from kernelvault.agents.template.dims import Shape, UnsupportedError, c_shape, c_size, product
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
from kernelvault.spec.graph import Graph, GraphNode


def lower(graph: Graph) -> tuple[Value, ...]:
    """One value per graph output. Raises UnsupportedError naming the operator that has no rule."""
    lowering = _Lowering()
    for item in graph.inputs:
        shape = c_shape(item.tensor.shape)
        lowering.values[item.name] = Load(shape, item.tensor.dtype, f"in{item.index}")
    for node in graph.nodes:
        lowering.visit(node)
    outputs = [lowering.values[name] for name in graph.outputs]
    if any(isinstance(output, tuple) for output in outputs):
        raise UnsupportedError("unsupported: an output that is a tuple")
    return tuple(output for output in outputs if isinstance(output, Value))


class _Lowering:
    """Values by node name; tuple results are tuples of values."""

    def __init__(self) -> None:
        self.values: dict[str, Value | tuple[Value | None, ...]] = {}

    def visit(self, node: GraphNode) -> None:
        rule = _RULES.get(node.op)
        if rule is not None:
            self.values[node.name] = rule(self, node)
            return
        templates = ops.POINTWISE.get(node.op)
        if templates is None:
            raise UnsupportedError(f"unsupported: {node.op}")
        self.values[node.name] = self._pointwise(node, templates)

    def value(self, argument: Any) -> Value:
        """The value of a tensor argument; a number becomes a constant."""
        if isinstance(argument, dict) and "node" in argument:
            found = self.values[argument["node"]]
            if isinstance(found, Value):
                return found
            raise UnsupportedError("unsupported: a tuple used as a tensor")
        return number(argument)

    def _pointwise(self, node: GraphNode, template: ops.Template) -> Value:
        tensors = [a for a in node.args if isinstance(a, dict) and "node" in a]
        values = [self.value(a) for a in tensors]
        text = template(node, [_placeholder(i, v) for i, v in enumerate(values)])
        shape, dtype = _type(node)
        return Map(shape, dtype, text, tuple(values))


def number(argument: Any, dtype: str | None = None) -> Constant:
    """A literal of the graph as a C constant."""
    if isinstance(argument, dict) and "sym" in argument:
        return Constant((), dtype or "int64", c_size(argument["sym"]))
    return Constant((), dtype or "float32", ops.literal(argument))


def _placeholder(index: int, value: Value) -> str:
    return f"{{{index}}}"


def _type(node: GraphNode) -> tuple[Shape, str]:
    if node.tensor is None:
        raise UnsupportedError(f"unsupported: {node.op} with several results")
    return c_shape(node.tensor.shape), node.tensor.dtype


def _argument(node: GraphNode, position: int, name: str, default: Any = None) -> Any:
    if position < len(node.args):
        return node.args[position]
    return dict(node.kwargs).get(name, default)


def _dims(dims: Any, rank: int) -> tuple[int, ...]:
    """Normalised dimensions; none at all means every dimension."""
    listed = [dims] if isinstance(dims, int) else list(dims or range(rank))
    return tuple(sorted(dim % rank for dim in listed)) if rank else ()


# ------------------------------------------------------------------ building blocks
def reduce(kind: str, arg: Value, dims: tuple[int, ...], keep: bool, dtype: str) -> Value:
    """A reduction, with the reduced dimensions kept at size 1 when `keep`."""
    shape = tuple(size for i, size in enumerate(arg.shape) if i not in dims)
    reduced = Reduce(shape, dtype, kind, arg, dims)
    if not keep or not dims:
        return reduced
    kept = tuple("1" if i in dims else size for i, size in enumerate(arg.shape))
    return Unsqueeze(kept, dtype, reduced, dims)


def count(arg: Value, dims: tuple[int, ...]) -> str:
    """How many elements a reduction combines, as C."""
    return product(tuple(size for i, size in enumerate(arg.shape) if i in dims))


def mean(arg: Value, dims: tuple[int, ...], keep: bool, dtype: str) -> Value:
    total = reduce("sum", arg, dims, keep, dtype)
    divisor = f"({{0}} / (float)({count(arg, dims)}))"
    return Map(total.shape, dtype, divisor, (total,))


def centred(arg: Value, dims: tuple[int, ...]) -> tuple[Value, Value]:
    """(arg - mean, sum of its squares over dims, kept): the two-pass variance."""
    middle = mean(arg, dims, True, arg.dtype)
    difference = Map(arg.shape, arg.dtype, "({0} - {1})", (arg, middle))
    squares = Map(arg.shape, arg.dtype, "({0} * {0})", (difference,))
    return difference, reduce("sum", squares, dims, True, arg.dtype)


def normalise(arg: Value, dims: tuple[int, ...], epsilon: float) -> Value:
    """(arg - mean) / sqrt(variance + epsilon) over dims."""
    difference, squares = centred(arg, dims)
    text = f"({{0}} / sqrtf({{1}} / (float)({count(arg, dims)}) + {ops.literal(epsilon)}))"
    return Map(arg.shape, arg.dtype, text, (difference, squares))


# ------------------------------------------------------------------ rules
def _same(low: _Lowering, node: GraphNode) -> Value:
    """Copies and casts: the same number under another dtype."""
    shape, dtype = _type(node)
    return Map(shape, dtype, "{0}", (low.value(node.args[0]),))


def _alias(low: _Lowering, node: GraphNode) -> Value:
    return low.value(node.args[0])


def _getitem(low: _Lowering, node: GraphNode) -> Value:
    name, index = node.args[0]["node"], node.args[1]
    found = low.values[name]
    item: Value | None = found[index] if isinstance(found, tuple) else None
    if item is None:
        raise UnsupportedError(f"unsupported: result {index} of {name}")
    return item


def _scalar_tensor(low: _Lowering, node: GraphNode) -> Value:
    _, dtype = _type(node)
    return number(node.args[0], dtype)


def _full(low: _Lowering, node: GraphNode) -> Value:
    shape, dtype = _type(node)
    return Map(shape, dtype, "{0}", (number(node.args[1], dtype),))


def _permute(low: _Lowering, node: GraphNode) -> Value:
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
    shape, dtype = _type(node)
    return Permute(shape, dtype, arg, tuple(order))


def _reshape(low: _Lowering, node: GraphNode) -> Value:
    shape, dtype = _type(node)
    return Reshape(shape, dtype, low.value(node.args[0]))


def _expand(low: _Lowering, node: GraphNode) -> Value:
    return _same(low, node)  # a Map broadcasts its arguments


def _squeeze(low: _Lowering, node: GraphNode) -> Value:
    shape, dtype = _type(node)
    arg = low.value(node.args[0])
    dims = _dims(_argument(node, 1, "dim"), len(arg.shape))
    return Squeeze(shape, dtype, arg, tuple(dim for dim in dims if arg.shape[dim] == "1"))


def _unsqueeze(low: _Lowering, node: GraphNode) -> Value:
    shape, dtype = _type(node)
    return Unsqueeze(shape, dtype, low.value(node.args[0]), (node.args[1] % len(shape),))


def _slice(low: _Lowering, node: GraphNode) -> Value:
    shape, dtype = _type(node)
    arg = low.value(node.args[0])
    dim, start = _argument(node, 1, "dim", 0) % len(arg.shape), _argument(node, 2, "start") or 0
    step = _argument(node, 4, "step", 1)
    if not isinstance(start, int) or start < 0 or not isinstance(step, int):
        raise UnsupportedError("unsupported: a slice with symbolic bounds")
    return Slice(shape, dtype, arg, dim, start, step)


def _reduction(low: _Lowering, node: GraphNode) -> Value:
    arg = low.value(node.args[0])
    dims = _dims(_argument(node, 1, "dim"), len(arg.shape))
    keep = bool(_argument(node, 2, "keepdim", False))
    _, dtype = _type(node)
    if node.op in ("aten.mean.dim", "aten.mean.default"):
        return mean(arg, dims, keep, dtype)
    kind = {"sum": "sum", "amax": "max", "amin": "min"}[node.op.split(".")[1]]
    return reduce(kind, arg, dims, keep, dtype)


def _variance(low: _Lowering, node: GraphNode) -> Value:
    arg = low.value(node.args[0])
    options = dict(node.kwargs)
    dims = _dims(_argument(node, 1, "dim"), len(arg.shape))
    correction = options.get("correction")
    _, squares = centred(arg, dims)
    free = f"(float)({count(arg, dims)}) - {ops.literal(1 if correction is None else correction)}"
    variance = Map(squares.shape, arg.dtype, f"({{0}} / ({free}))", (squares,))
    if options.get("keepdim"):
        return variance
    shape, dtype = _type(node)
    return Squeeze(shape, dtype, variance, dims)


def _softmax(low: _Lowering, node: GraphNode) -> Value:
    arg = low.value(node.args[0])
    shape, dtype = _type(node)
    dims = _dims(node.args[1], len(shape))
    top = reduce("max", arg, dims, True, arg.dtype)
    shifted = Map(shape, arg.dtype, "({0} - {1})", (arg, top))
    powers = Map(shape, arg.dtype, "expf({0})", (shifted,))
    total = reduce("sum", powers, dims, True, arg.dtype)
    if node.op == "aten._log_softmax.default":
        return Map(shape, dtype, "({0} - logf({1}))", (shifted, total))
    return Map(shape, dtype, "({0} / {1})", (powers, total))


def _affine(normal: Value, weight: Value | None, bias: Value | None) -> Value:
    args = [normal, *(v for v in (weight, bias) if v is not None)]
    text = "{0}" + (" * {1}" if weight is not None else "")
    if bias is not None:
        text += f" + {{{len(args) - 1}}}"
    return Map(normal.shape, normal.dtype, f"({text})", tuple(args))


def _layer_norm(low: _Lowering, node: GraphNode) -> tuple[Value | None, ...]:
    arg = low.value(node.args[0])
    rank, normalised = len(arg.shape), len(node.args[1])
    dims = tuple(range(rank - normalised, rank))
    weight, bias = (None if a is None else low.value(a) for a in node.args[2:4])
    return (_affine(normalise(arg, dims, node.args[4]), weight, bias), None, None)


def _group_norm(low: _Lowering, node: GraphNode) -> tuple[Value | None, ...]:
    arg = low.value(node.args[0])
    channels, groups = int(arg.shape[1]), node.args[6]
    rest = (str(channels // groups), *arg.shape[2:])
    grouped = Reshape((arg.shape[0], str(groups), product(rest)), arg.dtype, arg)
    normal = Reshape(arg.shape, arg.dtype, normalise(grouped, (2,), node.args[7]))
    extra = tuple(range(1, len(arg.shape) - 1))
    scale = [None if a is None else low.value(a) for a in node.args[1:3]]
    shaped = [
        v if v is None else Unsqueeze((v.shape[0], *("1" for _ in extra)), v.dtype, v, extra)
        for v in scale
    ]
    return (_affine(normal, shaped[0], shaped[1]), None, None)


def _matmul(low: _Lowering, node: GraphNode) -> Value:
    shape, dtype = _type(node)
    values = [low.value(a) for a in node.args]
    if node.op != "aten.addmm.default":
        return Contract(shape, dtype, *values)
    beta, alpha = (dict(node.kwargs).get(name, 1) for name in ("beta", "alpha"))
    product_ = Contract(shape, dtype, values[1], values[2])
    text = f"({ops.literal(alpha)} * {{0}} + {ops.literal(beta)} * {{1}})"
    if (alpha, beta) == (1, 1):
        text = "({0} + {1})"
    return Map(shape, dtype, text, (product_, values[0]))


def _embedding(low: _Lowering, node: GraphNode) -> Value:
    shape, dtype = _type(node)
    return Gather(shape, dtype, low.value(node.args[0]), low.value(node.args[1]), 0, True)


def _gather(low: _Lowering, node: GraphNode) -> Value:
    shape, dtype = _type(node)
    arg = low.value(node.args[0])
    dim = node.args[1] % len(arg.shape)
    return Gather(shape, dtype, arg, low.value(node.args[2]), dim, False)


def _pair(value: Any, default: tuple[int, int]) -> tuple[int, int]:
    items = list(value) if value else list(default)
    return (int(items[0]), int(items[-1]))


def _pool(low: _Lowering, node: GraphNode) -> Value:
    kernel = _pair(node.args[1], (1, 1))
    stride = _pair(_argument(node, 2, "stride"), kernel)
    padding = _pair(_argument(node, 3, "padding"), (0, 0))
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


def _max_pool(low: _Lowering, node: GraphNode) -> tuple[Value | None, ...]:
    return (_pool(low, node), None)


_Rule = Callable[[_Lowering, GraphNode], "Value | tuple[Value | None, ...]"]

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
        _reduction,
    ),
    **dict.fromkeys(("aten._softmax.default", "aten._log_softmax.default"), _softmax),
    **dict.fromkeys(("aten.mm.default", "aten.bmm.default", "aten.addmm.default"), _matmul),
    "aten.expand.default": _expand,
    "aten.unsqueeze.default": _unsqueeze,
    "aten.slice.Tensor": _slice,
    "aten.scalar_tensor.default": _scalar_tensor,
    "aten.full.default": _full,
    "aten.var.correction": _variance,
    "aten.native_layer_norm.default": _layer_norm,
    "aten.native_group_norm.default": _group_norm,
    "aten.embedding.default": _embedding,
    "aten.gather.default": _gather,
    "aten.avg_pool2d.default": _pool,
    "aten.max_pool2d_with_indices.default": _max_pool,
    "getitem": _getitem,
}
