"""Pointwise operators as C expressions.

A rule gets the node and the C placeholders of its tensor arguments, in order. Numbers among the
arguments are read from the node. Comparisons that PyTorch lets NaN through are written so that it
passes here too (`x < 0 ? 0 : x` keeps NaN, `fmaxf` would not).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kernelvault.agents.template.dims import UnsupportedError, c_size
from kernelvault.spec.graph import GraphNode

Template = Callable[[GraphNode, list[str]], str]


def literal(value: Any) -> str:
    """A number of the graph in C."""
    if isinstance(value, dict):
        if "float" in value:
            return {"inf": "INFINITY", "-inf": "(-INFINITY)", "nan": "NAN"}[value["float"]]
        if "sym" in value:
            return f"(float)({c_size(value['sym'])})"
        raise UnsupportedError(f"unsupported: constant {value}")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value >= 0 else f"({value})"
    if not math.isfinite(value):
        return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)"
    text = f"{value!r}f"
    return text if value >= 0 else f"({text})"


def _operands(node: GraphNode, tensors: list[str]) -> list[str]:
    """The first two operands, each a tensor placeholder or a literal."""
    waiting = iter(tensors)
    return [
        next(waiting) if isinstance(a, dict) and "node" in a else literal(a) for a in node.args[:2]
    ]


def _unary(text: str) -> Template:
    return lambda node, tensors: text.replace("x", tensors[0])


def _call(function: str) -> Template:
    return lambda node, tensors: f"{function}({tensors[0]})"


def _binary(symbol: str) -> Template:
    def rule(node: GraphNode, tensors: list[str]) -> str:
        a, b = _operands(node, tensors)
        return f"({a} {symbol} {b})"

    return rule


def _scaled(symbol: str) -> Template:
    """add and sub, whose second operand may be scaled by `alpha`."""

    def rule(node: GraphNode, tensors: list[str]) -> str:
        a, b = _operands(node, tensors)
        alpha = dict(node.kwargs).get("alpha", 1)
        return f"({a} {symbol} {b})" if alpha == 1 else f"({a} {symbol} {literal(alpha)} * {b})"

    return rule


def _division(node: GraphNode, tensors: list[str]) -> str:
    if dict(node.kwargs).get("rounding_mode"):
        raise UnsupportedError("unsupported: div with a rounding mode")
    a, b = _operands(node, tensors)
    return f"((float){a} / {b})"


def _power(node: GraphNode, tensors: list[str]) -> str:
    x, exponent = tensors[0], node.args[1]
    exact = {2: f"({x} * {x})", 3: f"({x} * {x} * {x})", 1: x, 0.5: f"sqrtf({x})"}
    return exact.get(exponent) or f"powf({x}, {literal(exponent)})"


def _gelu(node: GraphNode, tensors: list[str]) -> str:
    x = tensors[0]
    if dict(node.kwargs).get("approximate", "none") == "tanh":
        inner = f"0.7978845608028654f * ({x} + 0.044715f * {x} * {x} * {x})"
        return f"(0.5f * {x} * (1.0f + tanhf({inner})))"
    return f"(0.5f * {x} * (1.0f + erff({x} * 0.7071067811865476f)))"


def _clamp(node: GraphNode, tensors: list[str]) -> str:
    text = tensors[0]
    options = dict(node.kwargs)
    low = node.args[1] if len(node.args) > 1 else options.get("min")
    high = node.args[2] if len(node.args) > 2 else options.get("max")
    if low is not None:
        text = f"({text} < {literal(low)} ? {literal(low)} : {text})"
    if high is not None:
        # The lower bound was applied above, so the expression is bound to a name by a helper.
        text = f"kv_at_most({text}, {literal(high)})"
    return text


def _leaky(node: GraphNode, tensors: list[str]) -> str:
    slope = node.args[1] if len(node.args) > 1 else 0.01
    return f"({tensors[0]} > 0 ? {tensors[0]} : {literal(slope)} * {tensors[0]})"


def _where(node: GraphNode, tensors: list[str]) -> str:
    return f"({tensors[0]} ? {tensors[1]} : {tensors[2]})"


_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

POINTWISE: dict[str, Template] = {
    **{f"aten.{n}.{k}": _scaled(s) for n, s in (("add", "+"), ("sub", "-"))
       for k in ("Tensor", "Scalar")},
    **{f"aten.mul.{k}": _binary("*") for k in ("Tensor", "Scalar")},
    **{f"aten.div.{k}": _division for k in ("Tensor", "Scalar", "Tensor_mode")},
    **{f"aten.{n}.{k}": _binary(s) for n, s in _COMPARE.items() for k in ("Tensor", "Scalar")},
    "aten.logical_and.default": _binary("&&"),
    "aten.logical_or.default": _binary("||"),
    "aten.logical_not.default": _unary("(!x)"),
    "aten.pow.Tensor_Scalar": _power,
    "aten.gelu.default": _gelu,
    "aten.clamp.default": _clamp,
    "aten.hardtanh.default": _clamp,
    "aten.leaky_relu.default": _leaky,
    "aten.where.self": _where,
    "aten.maximum.default": lambda n, t: f"kv_max({t[0]}, {t[1]})",
    "aten.minimum.default": lambda n, t: f"kv_min({t[0]}, {t[1]})",
    "aten.relu.default": _unary("(x < 0 ? 0 : x)"),
    "aten.neg.default": _unary("(-x)"),
    "aten.abs.default": lambda n, t: f"fabsf({t[0]})",
    "aten.reciprocal.default": _unary("(1.0f / x)"),
    "aten.sigmoid.default": lambda n, t: f"(1.0f / (1.0f + expf(-{t[0]})))",
    "aten.silu.default": lambda n, t: f"({t[0]} / (1.0f + expf(-{t[0]})))",
    **{
        f"aten.{name}.default": _call(c)
        for name, c in {
            "exp": "expf", "exp2": "exp2f", "expm1": "expm1f", "log": "logf", "log1p": "log1pf",
            "log2": "log2f", "sqrt": "sqrtf", "rsqrt": "rsqrtf", "tanh": "tanhf", "erf": "erff",
            "sin": "sinf", "cos": "cosf", "floor": "floorf", "ceil": "ceilf", "round": "rintf",
            "trunc": "truncf",
        }.items()
    },
}  # fmt: skip
