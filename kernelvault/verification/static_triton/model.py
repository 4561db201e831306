"""What a module binds: imports, kernels, host functions, classes, constants."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelvault.verification.static_hip import Finding
from kernelvault.verification.static_triton import host_names

FORBIDDEN_BUILTINS = frozenset((*dir(builtins), "exit", "quit")) - host_names.BUILTINS
CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


@dataclass(frozen=True, slots=True)
class Module:
    """Names bound at module level by kind, and what classes put on `self`."""

    aliases: Mapping[str, str]  # name -> dotted path of the import
    kernels: Mapping[str, ast.FunctionDef]
    functions: Mapping[str, ast.FunctionDef]
    classes: Mapping[str, ast.ClassDef]
    constants: frozenset[str]
    mutables: frozenset[str]  # constants that hold a list, dict or set
    members: frozenset[str]
    methods: frozenset[str]

    def dotted(self, node: ast.expr) -> str | None:
        """The full path of a name or attribute chain that begins at an import."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.aliases:
            return None
        return ".".join([self.aliases[node.id], *reversed(parts)])

    def binds(self, name: str) -> bool:
        kinds = (self.aliases, self.kernels, self.functions, self.classes, self.constants)
        return any(name in kind for kind in kinds)


def is_main_guard(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__":` without an else branch."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
        and len(node.test.ops) == 1
        and isinstance(node.test.ops[0], ast.Eq)
        and isinstance(node.test.comparators[0], ast.Constant)
        and node.test.comparators[0].value == "__main__"
    )


def is_kernel(node: ast.FunctionDef, aliases: Mapping[str, str]) -> bool:
    """Whether a function is decorated with `triton.jit`."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        parts: list[str] = []
        while isinstance(target, ast.Attribute):
            parts.append(target.attr)
            target = target.value
        if isinstance(target, ast.Name):
            path = [aliases.get(target.id, target.id), *reversed(parts)]
            if ".".join(path) == "triton.jit":
                return True
    return False


def build(tree: ast.Module) -> tuple[Module, tuple[Finding, ...]]:
    """The module's names, and findings about imports and names bound twice."""
    aliases: dict[str, str] = {}
    findings: list[Finding] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, path in _imported(node):
                if aliases.get(name, path) != path:
                    findings.append(_rebound(name, node.lineno))
                aliases[name] = path
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    assigned = list(_assignments(tree))
    module = Module(
        aliases=aliases,
        kernels={n.name: n for n in functions if is_kernel(n, aliases)},
        functions={n.name: n for n in functions if not is_kernel(n, aliases)},
        classes=classes,
        constants=frozenset(name for name, _, _ in assigned),
        mutables=frozenset(name for name, value, _ in assigned if _mutable(value)),
        members=frozenset(m for c in classes.values() for m in _members(c)),
        methods=frozenset(
            n.name for c in classes.values() for n in c.body if isinstance(n, ast.FunctionDef)
        ),
    )
    lines = {name: line for name, _, line in assigned}
    lines |= {n.name: n.lineno for n in functions}
    lines |= {n.name: n.lineno for n in classes.values()}
    findings += _twice(module, lines)
    return module, tuple(findings)


def _twice(module: Module, lines: Mapping[str, int]) -> Iterator[Finding]:
    kinds = (module.aliases, module.kernels, module.functions, module.classes, module.constants)
    for name, line in lines.items():
        if name in FORBIDDEN_BUILTINS and name != "__all__":
            text = f"{name} hides a Python builtin at module level; choose another name"
            yield Finding("rebinding", "reject", line, text)
        if sum(name in kind for kind in kinds) > 1:
            yield _rebound(name, line)


def _rebound(name: str, line: int) -> Finding:
    return Finding("rebinding", "reject", line, f"{name} is bound twice; use two names")


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    for item in node.names:
        if isinstance(node, ast.ImportFrom):
            yield item.asname or item.name, f"{node.module or ''}.{item.name}"
        elif item.asname:
            yield item.asname, item.name
        else:
            root = item.name.split(".", 1)[0]
            yield root, root


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr, int]]:
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for name in names_of(target):
                yield name, node.value, node.lineno


def names_of(target: ast.expr) -> Iterator[str]:
    """The plain names an assignment target binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from names_of(element)
    elif isinstance(target, ast.Starred):
        yield from names_of(target.value)


def _mutable(value: ast.expr) -> bool:
    """Containers, and results of calls other than those that give numbers or dtypes."""
    if isinstance(value, ast.Compare):
        return False
    for node in ast.walk(value):
        if isinstance(node, CONTAINERS):
            return True
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else None
            name = function.id if isinstance(function, ast.Name) else name
            if name not in _PLAIN_CALLS:
                return True
    return False


_PLAIN_CALLS = frozenset(
    """constexpr int float bool str cdiv next_power_of_2 len min max sum abs round range device
    get_active_torch_device get_current_target get_current_device is_available sqrt log log2 exp
    ceil floor pow dtype""".split()
)


def _members(node: ast.ClassDef) -> Iterator[str]:
    """Names a class puts on its instances: methods, class constants, `self.x = ...`."""
    for item in ast.walk(node):
        if isinstance(item, ast.FunctionDef):
            yield item.name
        elif (
            isinstance(item, ast.Attribute)
            and isinstance(item.ctx, ast.Store)
            and isinstance(item.value, ast.Name)
            and item.value.id == "self"
        ):
            yield item.attr
        elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            first = item.args[0] if item.args else None
            if item.func.attr in ("register_buffer", "register_parameter", "add_module") and (
                isinstance(first, ast.Constant) and isinstance(first.value, str)
            ):
                yield first.value
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            yield from (t.id for t in statement.targets if isinstance(t, ast.Name))


def locals_of(function: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """Names bound in a function's own scope: those of inner scopes are left out."""
    found = {a.arg for a in parameters(function.args)}
    body = function.body
    stack: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Lambda):
            stack += [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        elif isinstance(node, ast.comprehension):
            stack += [node.iter, *node.ifs]
        else:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            stack.extend(ast.iter_child_nodes(node))
    return frozenset(found)


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters, in the order of their declaration."""
    extra = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]
