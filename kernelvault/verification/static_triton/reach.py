"""What the entry point can reach, and what it must offer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelvault.verification.static_hip import Finding
from kernelvault.verification.static_triton.model import Module, is_main_guard

ENTRY, ENTRY_CLASS = "module_fn", "ModelNew"


def reachable(tree: ast.Module, module: Module) -> frozenset[str]:
    """Definitions named, directly or through others, by the entry points or module-level code.

    Names are the only way to reach code here, since reflection is refused everywhere.
    """
    defined: dict[str, ast.AST] = {**module.kernels, **module.functions, **module.classes}
    todo = [name for name in (ENTRY, ENTRY_CLASS) if name in defined]
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) and not is_main_guard(node):
            todo += _named(node)
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name in defined and name not in found:
            found.add(name)
            todo += _named(defined[name])
    return frozenset(found)


def _named(node: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]


def entry_findings(
    module: Module, reached: frozenset[str], inputs: int, scalars: int
) -> Iterator[Finding]:
    """Findings about the entry point's presence, signature and launches."""
    function = module.functions.get(ENTRY)
    forward = _forward(module.classes.get(ENTRY_CLASS))
    if function is None and forward is None:
        text = "the module defines no `def module_fn(...)` (and no ModelNew with a forward)"
        yield Finding("missing_module_fn", "reject", 0, text)
        return
    if function is not None:
        yield from _signature(function, inputs, scalars)
    hosts: list[ast.AST] = [
        node
        for name, node in (*module.functions.items(), *module.classes.items())
        if name in reached
    ]
    if not any(_launches(node, module) for node in hosts):
        text = "nothing reachable from module_fn launches a kernel: write kernel[grid](...)"
        yield Finding("no_launch", "reject", 0, text)
    for name in sorted(set(module.kernels) - reached):
        line = module.kernels[name].lineno
        yield Finding("unused_kernel", "telemetry", line, f"kernel {name} is never used")


def _forward(node: ast.ClassDef | None) -> ast.FunctionDef | None:
    for item in node.body if node is not None else ():
        if isinstance(item, ast.FunctionDef) and item.name == "forward":
            return item
    return None


def _signature(node: ast.FunctionDef, inputs: int, scalars: int) -> Iterator[Finding]:
    arguments = node.args
    most = len(arguments.posonlyargs) + len(arguments.args)
    least = most - len(arguments.defaults)
    required = any(default is None for default in arguments.kw_defaults)
    fits = any(
        least <= count and (count <= most or arguments.vararg is not None)
        for count in (inputs, inputs + scalars)
    )
    if required or not fits:
        wanted = f"{inputs} tensors"
        if scalars:
            wanted += f", or these and {scalars} scalars ({inputs + scalars} in all)"
        text = f"module_fn takes {least} to {most} positional arguments; it is called with {wanted}"
        yield Finding("module_fn_signature", "reject", node.lineno, text)


def _launches(node: ast.AST, module: Module) -> bool:
    """Whether code subscripts a kernel, or calls a subscripted name beside naming a kernel."""
    named = False
    indirect = False
    for item in ast.walk(node):
        named |= isinstance(item, ast.expr) and _names_kernel(item, module)
        if isinstance(item, ast.Subscript) and _names_kernel(item.value, module):
            return True
        indirect |= isinstance(item, ast.Call) and isinstance(item.func, ast.Subscript)
    return named and indirect


def _names_kernel(node: ast.expr, module: Module) -> bool:
    return isinstance(node, ast.Name) and node.id in module.kernels
