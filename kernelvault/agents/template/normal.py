"""Lowering of reductions and of what is built on them: softmax, variance, normalisations."""

from __future__ import annotations

from kernelvault.agents.template import ops
from kernelvault.agents.template.dims import product
from kernelvault.agents.template.ir import Map, Reduce, Reshape, Squeeze, Unsqueeze, Value
from kernelvault.agents.template.scope import Lowered, Scope, argument, dimensions, result_type
from kernelvault.spec.graph import GraphNode


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


def reduction(low: Scope, node: GraphNode) -> Value:
    arg = low.value(node.args[0])
    dims = dimensions(argument(node, 1, "dim"), len(arg.shape))
    keep = bool(argument(node, 2, "keepdim", False))
    _, dtype = result_type(node)
    if node.op in ("aten.mean.dim", "aten.mean.default"):
        return mean(arg, dims, keep, dtype)
    kind = {"sum": "sum", "amax": "max", "amin": "min"}[node.op.split(".")[1]]
    return reduce(kind, arg, dims, keep, dtype)


def variance(low: Scope, node: GraphNode) -> Value:
    arg = low.value(node.args[0])
    options = dict(node.kwargs)
    dims = dimensions(argument(node, 1, "dim"), len(arg.shape))
    correction = options.get("correction")
    _, squares = centred(arg, dims)
    free = f"(float)({count(arg, dims)}) - {ops.literal(1 if correction is None else correction)}"
    variance = Map(squares.shape, arg.dtype, f"({{0}} / ({free}))", (squares,))
    if options.get("keepdim"):
        return variance
    shape, dtype = result_type(node)
    return Squeeze(shape, dtype, variance, dims)


def softmax(low: Scope, node: GraphNode) -> Value:
    arg = low.value(node.args[0])
    shape, dtype = result_type(node)
    dims = dimensions(node.args[1], len(shape))
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


def layer_norm(low: Scope, node: GraphNode) -> Lowered:
    arg = low.value(node.args[0])
    rank, normalised = len(arg.shape), len(node.args[1])
    dims = tuple(range(rank - normalised, rank))
    weight, bias = (None if a is None else low.value(a) for a in node.args[2:4])
    return (_affine(normalise(arg, dims, node.args[4]), weight, bias), None, None)


def group_norm(low: Scope, node: GraphNode) -> Lowered:
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
