"""Module level: imports, constants and definitions, so that importing a candidate does nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelvault.verification.static_hip import Finding
from kernelvault.verification.static_triton import host_names, source
from kernelvault.verification.static_triton.host import HostChecker
from kernelvault.verification.static_triton.kernels import KernelChecker
from kernelvault.verification.static_triton.model import CONTAINERS, Module, is_main_guard

_CALLS = frozenset(
    """triton.Config triton.language.constexpr triton.cdiv triton.next_power_of_2 torch.device
    torch.cuda.is_available torch.cuda.current_device torch.cuda.get_device_properties
    torch.cuda.get_device_capability torch.cuda.get_device_name torch.finfo torch.iinfo
    triton.runtime.driver.active.get_active_torch_device
    triton.runtime.driver.active.get_current_target
    triton.runtime.driver.active.get_current_device
    triton.runtime.driver.active.utils.get_device_properties""".split()
)
_BUILTIN_CALLS = frozenset(
    """range int float bool str len min max sum abs round tuple list dict set frozenset zip
    enumerate sorted reversed divmod pow""".split()
)
_KERNEL_DECORATORS = frozenset(f"triton.{name}" for name in ("jit", "autotune", "heuristics"))
_HOST_DECORATORS = frozenset(("triton.constexpr_function", "torch.no_grad", "torch.inference_mode"))
_PLAIN = frozenset(("staticmethod", "property"))
_NO_EFFECT = "importing a candidate must do nothing; move this into a function"
# Rules that only matter in code that module_fn can reach.
_REACHED_ONLY = frozenset(
    """tensor_compute timing host_data fallback autograd class_definition clone other_stream
    graph_replay print attribute with""".split()
)


def findings(tree: ast.Module, module: Module, text: str, reached: frozenset[str]) -> list[Finding]:
    """Findings of every statement of the module, unreachable definitions judged mildly."""
    found: list[Finding] = []
    lines = source.lines_of(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own = _definition(node, module, lines)
            found += own if node.name in reached else _mild(own, node)
        else:
            found += _statement(node, module)
    return found


def _mild(found: Sequence[Finding], node: ast.FunctionDef | ast.ClassDef) -> list[Finding]:
    text = f"{node.name} is not used by module_fn"
    kept = [replace(f, severity="telemetry") if f.rule in _REACHED_ONLY else f for f in found]
    return [*kept, Finding("unreachable", "telemetry", node.lineno, text)]


def _definition(
    node: ast.FunctionDef | ast.ClassDef, module: Module, lines: Sequence[str]
) -> list[Finding]:
    if isinstance(node, ast.ClassDef):
        return list(_class(node, module))
    if node.name.startswith("__"):
        return [Finding("dunder", "reject", node.lineno, f"{node.name[:60]}: choose another name")]
    is_kernel = module.kernels.get(node.name) is node or _kernel_decorated(node, module)
    found = _decorators(
        node.decorator_list, module, _KERNEL_DECORATORS if is_kernel else _HOST_DECORATORS
    )
    if is_kernel:
        kernel = KernelChecker(module)
        kernel.kernel(node)
        twice = source.kernel_text_finding(lines, node)
        return [*found, *kernel.findings, *([twice] if twice else [])]
    host = HostChecker(module)
    host.function(node)
    return found + host.findings


def _kernel_decorated(node: ast.FunctionDef, module: Module) -> bool:
    return any(_decorator(d, module) == "triton.jit" for d in node.decorator_list)


def _decorator(node: ast.expr, module: Module) -> str | None:
    return module.dotted(node.func if isinstance(node, ast.Call) else node)


def _decorators(
    nodes: Sequence[ast.expr], module: Module, allowed: frozenset[str]
) -> list[Finding]:
    found: list[Finding] = []
    for decorator in nodes:
        if _decorator(decorator, module) not in allowed:
            text = f"@{ast.unparse(decorator)[:60]} is not accepted here; only triton's decorators"
            found.append(Finding("decorator", "reject", decorator.lineno, text))
        elif isinstance(decorator, ast.Call):
            checker = HostChecker(module)
            for part in [*decorator.args, *decorator.keywords]:
                checker.visit(part)
            found += [*checker.findings, *_calls(decorator, module)]
    return found


def _class(node: ast.ClassDef, module: Module) -> Iterator[Finding]:
    bases = [module.dotted(base) for base in node.bases]
    own = [b.id for b in node.bases if isinstance(b, ast.Name) and b.id in module.classes]
    if "torch.autograd.Function" in bases:
        text = "write the forward pass only, as module_fn, without autograd.Function"
        yield Finding("autograd", "reject", node.lineno, text)
    elif len(node.bases) != 1 or not (bases == ["torch.nn.Module"] or own):
        text = f"class {node.name[:60]}: only subclasses of nn.Module are accepted"
        yield Finding("class_definition", "reject", node.lineno, text)
    if any(not isinstance(base, ast.Name | ast.Attribute) for base in node.bases):
        yield Finding("module_level", "reject", node.lineno, "a base class must be a plain name")
    if node.keywords or node.decorator_list or getattr(node, "type_params", None):
        text = "classes take no decorators, keywords or type parameters"
        yield Finding("decorator", "reject", node.lineno, text)
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            yield from _method(item, module)
        elif isinstance(item, ast.Assign | ast.AnnAssign):
            yield from _assignment(item, module)
            if item.value is not None and any(
                isinstance(part, CONTAINERS) for part in ast.walk(item.value)
            ):
                text = "a class holds no lists, dicts or sets: they would outlive the call"
                yield Finding("state", "reject", item.lineno, text)
        elif not (isinstance(item, ast.Pass) or _docstring(item)):
            text = "a class body holds methods and constants only"
            yield Finding("module_level", "reject", item.lineno, text)


def _method(node: ast.FunctionDef, module: Module) -> Iterator[Finding]:
    name = node.name
    if name in host_names.MODULE_API or (name.startswith("__") and name != "__init__"):
        text = f"{name[:60]} replaces what the harness uses of nn.Module; choose another name"
        yield Finding("harness_access", "reject", node.lineno, text)
    plain = [d for d in node.decorator_list if isinstance(d, ast.Name) and d.id in _PLAIN]
    static = len(plain) > 0
    if name == "__init__" and node.decorator_list:
        yield Finding("decorator", "reject", node.lineno, "__init__ takes no decorators")
    if any(a.arg == "self" for a in [*node.args.posonlyargs, *node.args.args][1:]):
        yield Finding("rebinding", "reject", node.lineno, "self is the first parameter only")
    others = [d for d in node.decorator_list if d not in plain]
    yield from _decorators(others, module, _HOST_DECORATORS)
    first = [*node.args.posonlyargs, *node.args.args][:1]
    if name in ("__init__", "forward") and (not first or first[0].arg != "self") and not static:
        text = f"the first parameter of {name} must be called self"
        yield Finding("class_definition", "reject", node.lineno, text)
    checker = HostChecker(module, method=name)
    checker.function(node)
    yield from checker.findings


def _docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _statement(node: ast.stmt, module: Module) -> Iterator[Finding]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from _import(node, module)
    elif is_main_guard(node):
        text = "the block under the main guard is not used"
        yield Finding("main_guard", "telemetry", node.lineno, text)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        yield from _assignment(node, module)
    elif not (isinstance(node, ast.Pass) or _docstring(node)):
        kind = type(node).__name__
        yield Finding("module_level", "reject", node.lineno, f"{kind}: {_NO_EFFECT}")


def _assignment(
    node: ast.Assign | ast.AnnAssign | ast.AugAssign, module: Module
) -> Iterator[Finding]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
        if not all(
            isinstance(n, ast.List | ast.Tuple | ast.Constant | ast.expr_context)
            for n in ast.walk(node.value or ast.Constant(None))
        ):
            yield Finding("dunder", "reject", node.lineno, "__all__ must be a list of strings")
        return
    checker = HostChecker(module)
    checker.generic_visit(node)
    if isinstance(node, ast.AnnAssign):
        checker.annotation(node.annotation)
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
        checker.add("module_level", node, "no := at module level; write an assignment")
    yield from checker.findings
    if node.value is not None:
        yield from _calls(node.value, module)


def _calls(value: ast.expr | ast.Call, module: Module) -> Iterator[Finding]:
    """Calls at module level other than Config, constexpr, arithmetic and config functions."""
    top = (
        value
        if isinstance(value, ast.Call)
        and _decorator(value, module) in (_KERNEL_DECORATORS | _HOST_DECORATORS)
        else None
    )
    for node in _outside_lambdas(value):
        if not isinstance(node, ast.Call) or node is top:
            continue
        function = node.func
        path = module.dotted(function)
        ok = path in _CALLS or (path or "").startswith("math.")
        if isinstance(function, ast.Name):
            ok |= function.id in _BUILTIN_CALLS or function.id in module.functions
        elif isinstance(function, ast.Attribute) and path is None:
            ok |= function.attr in ("items", "keys", "values", "get", "copy")
        if not ok:
            name = path or str(getattr(function, "attr", getattr(function, "id", "")))
            text = f"{name[:60]}(...) at module level: {_NO_EFFECT}"
            yield Finding("module_level", "reject", node.lineno, text)


def _outside_lambdas(value: ast.expr) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [value]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))


def _import(node: ast.Import | ast.ImportFrom, module: Module) -> Iterator[Finding]:
    text = "only torch, triton, math and typing may be imported"
    if isinstance(node, ast.Import):
        for item in node.names:
            if item.name not in host_names.MODULES:
                yield Finding("import", "reject", node.lineno, f"import {item.name[:60]}: {text}")
        return
    origin = node.module or ""
    checker = HostChecker(module)
    for item in node.names:
        path = f"{origin}.{item.name}"
        named = f"from {origin[:60]} import {item.name[:60]}"
        language = path.startswith("triton.language.") and path not in host_names.MODULES
        if item.name == "*":
            yield Finding("import", "reject", node.lineno, f"{named}: name what you import")
        elif node.level or origin not in host_names.MODULES:
            yield Finding("import", "reject", node.lineno, f"{named}: {text}")
        elif not (path in host_names.MODULES or language or checker.path_allowed(path)):
            rule, advice = host_names.denied(path)
            yield Finding("import", "reject", node.lineno, f"{named}: {rule}; {advice}")
