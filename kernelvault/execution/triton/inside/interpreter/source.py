"""Kernels as Python that means what the compiler takes them to mean.

The stock interpreter runs a kernel's Python nearly as it is, where `a and b` of two blocks is `b`,
`not a` is False, and a loop variable is a Python integer without a width. Here the syntax tree is
rewritten to call the helpers below, which follow Triton's code generator.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import triton.language as tl
from triton.runtime import interpreter

from .report import check_assertion, write_line

HELPERS = "_interpreter_helpers"
BUILTINS = ("print", "max", "min")


class BlockTruth(ValueError):
    """A block of more than one element was used as a condition."""

    def __init__(self) -> None:
        super().__init__("a block of more than one element has no single truth value")


def plain(value: Any) -> Any:
    """Unwrap a compile-time constant."""
    return value.value if isinstance(value, tl.constexpr) else value


class Helpers:
    """What rewritten kernels call."""

    @staticmethod
    def value(value: Any) -> Any:
        """Give an assigned number the type that Triton gives it."""
        return interpreter.interpreter_semantic.to_tensor(value, False)

    @staticmethod
    def truth(value: Any) -> bool:
        """The condition of `if`, `while` and conditional expressions.

        Raises:
            BlockTruth: for a block.
        """
        value = plain(value)
        if isinstance(value, tl.tensor) and value.handle is not None:
            if getattr(value.handle, "data", None) is None:
                return True  # a block pointer
            if value.handle.data.size > 1:
                raise BlockTruth
        return bool(value)

    @staticmethod
    def boolean(method: str, *operands: Callable[[], Any]) -> Any:
        """`and` (`logical_and`) and `or`: constants cut short, tensors are all evaluated."""
        kept: list[Any] = []
        value: Any = None
        for operand in operands:
            value = operand()
            if isinstance(value, tl.tensor):
                kept.append(value)
            elif bool(plain(value)) == (method == "logical_or"):
                return value
        if not kept:
            return value
        while len(kept) > 1:
            right = kept.pop()
            kept[-1] = getattr(kept[-1], method)(right)
        return kept[0]

    @staticmethod
    def negation(value: Any) -> Any:
        return value.__not__() if isinstance(value, tl.tensor) else not plain(value)

    @staticmethod
    def count(arg1: Any, arg2: Any = None, step: Any = None, **options: Any) -> Iterator[Any]:
        """`range` and `tl.range`: the loop variable is a scalar of the bounds' integer type."""
        semantic = interpreter.interpreter_semantic
        start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
        given = [plain(bound) for bound in (start, stop, 1 if step is None else step)]
        kind = tl.int32
        for bound in given:
            kind = semantic.integer_promote_impl(kind, semantic.to_tensor(bound).dtype)
        for number in range(*(int(bound) for bound in given)):
            yield semantic.scalar_constant(number, kind)

    @staticmethod
    def builtin(function: Any, *values: Any, **options: Any) -> Any:
        """A call of what may be Python's `max`, `min` or `print`."""
        if function is print:
            return write_line(*values)
        if function in (max, min) and any(isinstance(value, tl.tensor) for value in values):
            return (tl.core.builtin_max if function is max else tl.core.builtin_min)(*values)
        return function(*values, **options)

    assertion = staticmethod(check_assertion)


def _helper(name: str) -> ast.expr:
    return ast.Attribute(ast.Name(HELPERS, ast.Load()), name, ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(_helper(name), list(arguments), [])


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _thunk(body: ast.expr) -> ast.expr:
    nothing = ast.arguments(
        posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[], vararg=None, kwarg=None
    )
    return ast.Lambda(nothing, body)


class Rewriter(ast.NodeTransformer):
    """Replace what Python and Triton read differently."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if len(node.targets) > 1:
            raise ValueError("assignment to several targets at once is no Triton")
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            node.value.elts = [_call("value", element) for element in node.value.elts]
        else:
            node.value = _call("value", node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None and "constexpr" not in ast.unparse(node.annotation):
            node.value = _call("value", node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([node.target], _call("value", value))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        method = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        return _call("boolean", ast.Constant(method), *map(_thunk, node.values))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call("negation", node.operand) if isinstance(node.op, ast.Not) else node

    def _condition(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = _call("truth", node.test)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._condition(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._condition(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._condition(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        return ast.Expr(_call("assertion", node.test, node.msg or ast.Constant("")))

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.iter, ast.Call) and _is_name(node.iter.func, "range"):
            node.iter.func = _helper("count")
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if any(_is_name(node.func, name) for name in BUILTINS):
            node.args.insert(0, node.func)
            node.func = _helper("builtin")
        return node


def find_definition(self: Any, lines: list[str]) -> int:
    """Line of the kernel's own `def`, counted from 1 (a docstring may hold others)."""
    return next((i for i, line in enumerate(lines, 1) if line.strip().startswith("def ")), 0)


def executor(replacements: dict[int, tuple[Any, Any]]) -> Callable[[Any, ast.AST], Any]:
    """A `_compile_and_exec` that adds one name to the kernel's globals, and closed-over values.

    `replacements` maps ids of the language's functions to them and to the patched ones, for kernels
    whose module imported a function of the language by name.
    """

    def compile_and_exec(self: Any, tree: Any) -> Any:
        code: CodeType = compile(tree, self.filename, "exec")
        scope = self.fn.__globals__
        closed = inspect.getclosurevars(self.fn).nonlocals
        if closed:
            scope = {**scope, **closed}
        for name, value in list(scope.items()):
            if id(value) in replacements:
                scope[name] = replacements[id(value)][1]
        scope[HELPERS] = Helpers
        made: dict[str, Any] = dict(self.kwargs)
        exec(code, scope, made)
        return made[self.fn.__name__]

    return compile_and_exec
