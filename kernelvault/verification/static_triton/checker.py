"""Rules that hold in host code and in kernels alike: syntax, names, dotted paths, strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernelvault.verification.static_hip import Finding
from kernelvault.verification.static_triton import host_names, triton_names
from kernelvault.verification.static_triton.model import FORBIDDEN_BUILTINS, Module, names_of

_ALWAYS: tuple[type[ast.AST], ...] = (
    ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Assert,
    ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.NamedExpr, ast.BinOp,
    ast.UnaryOp, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.Compare, ast.Call, ast.FormattedValue, ast.JoinedStr, ast.Constant,
    ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice,
    ast.comprehension, ast.arguments, ast.arg, ast.keyword, ast.expr_context, ast.boolop,
    ast.operator, ast.unaryop, ast.cmpop, ast.Lambda, ast.Raise, ast.Delete, ast.ExceptHandler,
)  # fmt: skip
_REFUSED = {
    "Try": ("fallback", "no try/except: a candidate has one way to compute its result"),
    "TryStar": ("fallback", "no try/except: a candidate has one way to compute its result"),
    "Global": ("state", "no global variables: calls must not depend on earlier calls"),
    "Nonlocal": ("state", "no nonlocal variables: calls must not depend on earlier calls"),
    "Import": ("import", "imports belong at the top of the module"),
    "ImportFrom": ("import", "imports belong at the top of the module"),
    "FunctionDef": ("nested_function", "define kernels and their helpers at module level"),
}
_UNSAFE_DEFAULTS = (
    ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp,
    ast.Call, ast.NamedExpr, ast.Lambda,
)  # fmt: skip
_LIBRARY = host_names.TORCH | host_names.TRITON
_ASSEMBLY = "triton.language.inline_asm_elementwise"
_PTX = re.compile(r"%r\d|\.(b|u|s|f)(16|32|64)\b|\bcvt\.|=[rlhfd]\b|\bmov\.|\.bf16|\bmma\.|\bld\.")
_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]{200,}")
_FILE_OPTIONS = frozenset(("extern_libs", "ir_override"))


class Checker(ast.NodeVisitor):
    """Collects findings over one definition or module-level statement.

    `scopes` are the local names of the enclosing functions, outermost first.
    """

    extra_nodes: tuple[type[ast.AST], ...] = ()

    def __init__(self, module: Module, scopes: tuple[frozenset[str], ...] = ()) -> None:
        self.module = module
        self.scopes = scopes
        self.findings: list[Finding] = []

    def add(self, rule: str, node: ast.AST, text: str, severity: str = "reject") -> None:
        self.findings.append(Finding(rule, severity, int(getattr(node, "lineno", 0)), text))

    def visit(self, node: ast.AST) -> None:
        if not isinstance(node, (*_ALWAYS, *self.extra_nodes)):
            name = type(node).__name__
            default = ("syntax_not_allowed", f"{name} is not accepted; use plain functions")
            rule, text = _REFUSED.get(name, default)
            self.add(rule, node, text)
            if name not in ("Import", "ImportFrom"):
                self.generic_visit(node)
            return
        super().visit(node)

    def is_local(self, name: str) -> bool:
        return any(name in scope for scope in self.scopes)

    def visit_Name(self, node: ast.Name) -> None:
        name = node.id
        if name.startswith("__"):
            self.add("dunder", node, f"{name[:60]}: names of Python's internals are not accepted")
        elif isinstance(node.ctx, ast.Load) and not self.is_local(name):
            self.global_name(node)

    def global_name(self, node: ast.Name) -> None:
        """A name that no enclosing function binds."""
        name = node.id
        if name in self.module.aliases:
            self.path(self.module.aliases[name], node)
        elif self.module.binds(name):
            return
        elif name == "print":
            self.add("print", node, "print has no place in a candidate", "suspicious")
        elif name in FORBIDDEN_BUILTINS:
            text = f"{name} is not accepted: code must be readable without running it"
            self.add("forbidden_builtin", node, text)
        elif name not in host_names.BUILTINS:
            self.add("undefined_name", node, f"{name[:60]} is not defined in the module")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self.module.dotted(node)
        if path is None:
            if self.member(node):
                self.visit(node.value)
            return
        if any(part.startswith("_") for part in path.split(".")):
            self.add("dunder", node, f"{path[:80]}: private names are not accepted")
        else:
            self.path(path, node)

    def member(self, node: ast.Attribute) -> bool:
        """An attribute of a value; whether to look at the value too."""
        name = node.attr
        if name.startswith("__"):
            self.add("dunder", node, f".{name[:60]}: Python's internals are not accepted")
        elif name.startswith("_"):
            self.add("private_attribute", node, f".{name[:60]}: private names are not accepted")
        elif host_names.FRAME_ATTRIBUTES.match(name):
            self.add("frame_attribute", node, f".{name}: frames and code objects are off limits")
        else:
            self.value_attribute(node)
        return True

    def value_attribute(self, node: ast.Attribute) -> None:
        raise NotImplementedError

    def path(self, path: str, node: ast.AST) -> None:
        """A dotted name that begins at an import."""
        if path == "triton.language" or path.startswith("triton.language."):
            self.language(path.split(".")[2:], path, node)
        elif not self.path_allowed(path):
            rule, advice = host_names.denied(path)
            self.add(rule, node, f"{path[:80]}: {advice}")

    def path_allowed(self, path: str) -> bool:
        root, _, rest = path.partition(".")
        if root == "math":
            return bool(rest) and "." not in rest
        if root == "typing":
            return rest in host_names.TYPING
        if root == "__future__":
            return rest == "annotations"
        parts = path.split(".")
        if parts[:2] == ["torch", "Tensor"] and len(parts) > 2:
            return False
        for end in range(len(parts), 1, -1):
            if ".".join(parts[:end]) in _LIBRARY:
                return all(part in host_names.VALUE_ATTRIBUTES for part in parts[end:])
        return False

    def language(self, parts: list[str], path: str, node: ast.AST) -> None:
        """A name below triton.language."""
        first = parts[0] if parts else ""
        if any(part in triton_names.CLOCKS for part in parts):
            self.add("timing", node, f"{path}: kernels do not read clocks or unit numbers")
        elif path == _ASSEMBLY:
            self.add("inline_assembly", node, "write Triton operations instead of assembly")
        elif first == "extra":
            self.extra(parts[1:], path, node)
        elif first == "math":
            if len(parts) < 2 or parts[1] not in triton_names.MATH:
                text = f"{path[:80]} does not exist; try triton.language.extra.libdevice"
                self.add("no_such_triton_name", node, text)
        elif first not in triton_names.LANGUAGE or not all(
            part in triton_names.VALUE_ATTRIBUTES for part in parts[1:]
        ):
            self.add("no_such_triton_name", node, f"{path[:80]} is no public name of Triton")

    def extra(self, parts: list[str], path: str, node: ast.AST) -> None:
        if parts[:1] == ["cuda"]:
            text = f"{path[:80]} does not exist on AMD; use triton.language.extra.libdevice"
            self.add("cuda_only", node, text)
            return
        rest = parts[1:] if parts[:1] == ["hip"] else parts
        if len(rest) < 2 or rest[0] != "libdevice" or rest[1] not in triton_names.AMD_LIBDEVICE:
            text = f"{path[:80]} is not in AMD's libdevice; write it with other operations"
            self.add("no_such_libdevice", node, text)

    def visit_Call(self, node: ast.Call) -> None:
        if self.module.dotted(node.func) == _ASSEMBLY:
            texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
            if any(isinstance(t, str) and _PTX.search(t) for t in texts):
                text = "PTX assembly cannot run on AMD; write Triton operations instead"
                self.add("ptx_assembly", node, text)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg in _FILE_OPTIONS:
            self.add("harness_access", node, f"{node.arg}: kernels do not read files; leave it out")
        self.option(node.arg, node.value)
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self.option(key.value, value)
        self.generic_visit(node)

    def option(self, name: str | None, value: ast.expr) -> None:
        """A launch or Config option, by its name."""
        if name == "num_ctas" and not (isinstance(value, ast.Constant) and value.value == 1):
            known = isinstance(value, ast.Constant)
            text = "num_ctas must be 1 on AMD; leave it out"
            self.add("num_ctas", value, text, "reject" if known else "suspicious")
        elif name == "do_bench":
            self.add("timing", value, "do_bench: candidates do not time; leave it out")

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, str) and value in _FILE_OPTIONS:
            self.add("harness_access", node, f"{value}: kernels do not read files; leave it out")
        if isinstance(value, str | bytes):
            text = value if isinstance(value, str) else value.decode("latin-1")
            if len(text) > 4096 or _BASE64.search(text):
                self.add("odd_string", node, "a long or encoded string", "suspicious")

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node.generators, node.elt)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node.generators, node.elt)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node.generators, node.elt)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node.generators, node.key, node.value)

    def _comprehension(self, generators: list[ast.comprehension], *results: ast.expr) -> None:
        """A scope of its own, of which only the first iterable lies outside."""
        self.iterable(generators[0].iter)
        outer = self.scopes
        self.scopes = (*outer, frozenset(n for g in generators for n in names_of(g.target)))
        for number, generator in enumerate(generators):
            self.fresh(names_of(generator.target), generator.iter)
            self.visit(generator.target)
            if number:
                self.iterable(generator.iter)
            if generator.is_async:
                self.add("syntax_not_allowed", generator.iter, "no asynchronous code")
            for condition in generator.ifs:
                self.visit(condition)
        for result in results:
            self.visit(result)
        self.scopes = outer

    def iterable(self, node: ast.expr) -> None:
        self.visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.fresh(names_of(node.target), node)
        self.generic_visit(node)

    def fresh(self, names: Iterator[str], node: ast.AST) -> None:
        """Names of small scopes must hide nothing that is looked up without regard to scopes."""
        for name in names:
            module = self.module
            hides = name in module.aliases or name in module.kernels or name in module.mutables
            if hides or name in FORBIDDEN_BUILTINS:
                self.add("rebinding", node, f"{name} hides another name; choose a new one")

    def visit_arg(self, node: ast.arg) -> None:
        if node.arg.startswith("__"):
            self.add("dunder", node, f"{node.arg[:60]}: choose a name without leading underscores")
        self.annotation(node.annotation)

    def annotation(self, node: ast.expr | None) -> None:
        """Annotations are evaluated when a candidate is imported."""
        if node is None:
            return
        if any(isinstance(part, ast.Call | ast.NamedExpr) for part in ast.walk(node)):
            self.add("module_level", node, "an annotation must not call anything")
        self.visit(node)

    def check_defaults(self, arguments: ast.arguments) -> None:
        """Defaults are made once for all calls, so they must be immutable."""
        for default in [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]:
            for node in ast.walk(default):
                if isinstance(node, _UNSAFE_DEFAULTS) or (
                    isinstance(node, ast.Name) and node.id in self.module.mutables
                ):
                    text = "a default keeps its value between calls; use None or a constant"
                    self.add("mutable_default", default, text)
                    break
