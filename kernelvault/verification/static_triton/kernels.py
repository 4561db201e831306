"""Kernels: Triton's device language and nothing else, since the interpreter runs them as Python."""

from __future__ import annotations

import ast

from kernelvault.verification.static_triton import triton_names
from kernelvault.verification.static_triton.checker import Checker
from kernelvault.verification.static_triton.model import locals_of


class KernelChecker(Checker):
    """Findings of one kernel's parameters and body."""

    def kernel(self, node: ast.FunctionDef) -> None:
        own = locals_of(node)
        self.scopes = (own,)
        for name in sorted(own & set(self.module.aliases)):
            self.add("rebinding", node, f"{name} hides an import; choose another name")
        if getattr(node, "type_params", None):
            self.add("syntax_not_allowed", node, "functions take no type parameters")
        self.check_defaults(node.args)
        self.visit(node.args)
        self.annotation(node.returns)
        for statement in node.body:
            self.visit(statement)

    def value_attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.add("state", node, f"assigning .{node.attr[:60]} is not accepted in a kernel")
        elif node.attr not in triton_names.VALUE_ATTRIBUTES:
            text = f".{node.attr[:60]} is no attribute of Triton's values"
            self.add("attribute", node, text)

    def visit_Subscript(self, node: ast.Subscript) -> None:  # noqa: N802
        if not isinstance(node.ctx, ast.Load):
            self.add("state", node, "kernels write through tl.store, not by subscript")
        self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:  # noqa: N802
        self.add("syntax_not_allowed", node, "kernels have no lambdas; write a jit function")
