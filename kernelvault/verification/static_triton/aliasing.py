"""Which names an expression may share an object with, as far as the text shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def bindings(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Pairs of target and value of a function's assignments and loops."""
    for item in ast.walk(function):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(item, ast.Assign):
            pairs = [(target, item.value) for target in item.targets]
        elif isinstance(item, ast.AnnAssign | ast.NamedExpr) and item.value is not None:
            pairs = [(item.target, item.value)]
        elif isinstance(item, ast.For | ast.comprehension):
            pairs = [(item.target, item.iter)]
        for target, value in pairs:
            if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
                yield from ((target, element) for element in value.elts)
            else:
                yield target, value


def roots(node: ast.expr) -> set[str]:
    """Names whose object an expression may hand out without a copy."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.NamedExpr):
        return roots(node.value)
    if isinstance(node, ast.Call):
        found = roots(node.func) if isinstance(node.func, ast.Attribute) else set()
        if isinstance(node.func, ast.Name) and node.func.id in ("iter", "next", "zip", "enumerate"):
            found = set().union(*(roots(a) for a in node.args))
        return found
    if isinstance(node, ast.IfExp):
        return roots(node.body) | roots(node.orelse)
    if isinstance(node, ast.BoolOp):
        return set().union(*(roots(value) for value in node.values))
    return set()


def root_is_self(node: ast.expr) -> bool:
    """Whether an attribute chain begins at `self`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"


def calls(node: ast.expr, name: str) -> bool:
    """Whether an expression is a call of a plain name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
