"""Sizes as C expressions: the graph's symbolic dimensions in one canonical spelling."""

from __future__ import annotations

import ast
import re

from kernelvault.spec.graph import Dim

Shape = tuple[str, ...]

_INFIX = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%"}


class UnsupportedError(Exception):
    """The template agent has no lowering for something in the graph; the text says for what."""


def c_size(dim: Dim) -> str:
    """A dimension as C. Sizes are never negative, so Python's `//` and C's `/` agree."""
    return str(dim) if isinstance(dim, int) else _render(ast.parse(dim, mode="eval").body)


def _render(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(node.value)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"(-{_render(node.operand)})"
    if isinstance(node, ast.BinOp) and type(node.op) in _INFIX:
        parts = [_render(node.left), _render(node.right)]
        if isinstance(node.op, ast.Add | ast.Mult):
            parts.sort()  # a*b and b*a are the same size
        return f"({parts[0]} {_INFIX[type(node.op)]} {parts[1]})"
    raise UnsupportedError(f"unsupported: size expression {ast.unparse(node)}")


def c_shape(shape: tuple[Dim, ...]) -> Shape:
    """Every dimension of a shape as C."""
    return tuple(c_size(dim) for dim in shape)


def product(shape: Shape) -> str:
    """The number of elements of a shape as C, constants first: one spelling for equal products.

    An empty shape gives `1`.
    """
    constant, names = 1, []
    for factor in [factor for size in shape for factor in _factors(size)]:
        if factor.isdigit():
            constant *= int(factor)
        else:
            names.append(factor)
    numbers = [str(constant)] if constant != 1 or not names else []
    return " * ".join([*numbers, *sorted(names)])


def _factors(size: str) -> list[str]:
    """A size split at its top-level multiplications, where it is nothing but a product."""
    bare = size[1:-1] if size.startswith("(") and size.endswith(")") else size
    if re.fullmatch(r"\w+( \* \w+)*", bare):
        return bare.split(" * ")
    return [size]
