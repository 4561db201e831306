"""Texts of objects in host code: they differ between machines, so they are for messages only."""

from __future__ import annotations

import ast

from kernelvault.verification.static_triton.checker import Checker


class TextRules(Checker):
    """Refuses texts of objects outside `raise` and the message of `assert`."""

    _in_message = False

    def visit_Raise(self, node: ast.Raise) -> None:  # noqa: N802
        self._message(node)

    def visit_Assert(self, node: ast.Assert) -> None:  # noqa: N802
        self.visit(node.test)
        if node.msg is not None:
            self._message(node.msg)

    def _message(self, node: ast.AST) -> None:
        outer, self._in_message = self._in_message, True
        if isinstance(node, ast.Raise):
            self.generic_visit(node)
        else:
            self.visit(node)
        self._in_message = outer

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:  # noqa: N802
        self.text_of(node, "an f-string")
        self.generic_visit(node)

    def text_of(self, node: ast.AST, what: str) -> None:
        """Texts of objects differ between machines; results must not depend on them."""
        if not self._in_message and any(isinstance(n, ast.Name) for n in ast.walk(node)):
            text = f"{what} is for messages of raise and assert only; results must not depend on it"
            self.add("text_of_object", node, text)
