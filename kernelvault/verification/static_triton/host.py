"""Host code: it may allocate, take views, do shape arithmetic and launch; nothing else."""

from __future__ import annotations

import ast

from kernelvault.verification.static_triton import host_names
from kernelvault.verification.static_triton.aliasing import bindings, calls, root_is_self, roots
from kernelvault.verification.static_triton.host_texts import TextRules
from kernelvault.verification.static_triton.model import (
    Module,
    locals_of,
    names_of,
    parameters,
)

_READERS = frozenset(
    """len list dict tuple set sorted min max sum enumerate zip range any all isinstance map filter
    iter next reversed frozenset""".split()
)
_READ_METHODS = frozenset("get items keys values index count copy".split())
_INIT_TORCH = frozenset(
    f"torch.{n}" for n in "randn rand normal tensor arange linspace eye randint".split()
)
_NO_COMPUTE = "compute it in a kernel; host code may only allocate, take views and launch"
_STATE = "calls must not depend on earlier calls"


class HostChecker(TextRules):
    """Findings of one host function, method or module-level expression."""

    extra_nodes = (ast.FunctionDef, ast.With, ast.withitem)

    def __init__(
        self, module: Module, scopes: tuple[frozenset[str], ...] = (), method: str | None = None
    ) -> None:
        super().__init__(module, scopes)
        self.method = method
        self.in_init = method == "__init__"
        self.in_function = False  # module-level expressions run once
        self.shared: frozenset[str] = frozenset()  # locals that alias what outlives the call
        self.received: frozenset[str] = frozenset()  # parameters
        self._statement: ast.expr | None = None  # the call that a statement consists of
        self._called: ast.expr | None = None  # what the call that is being looked at calls

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:  # noqa: N802
        self._only_self(node.args, node)
        inner = HostChecker(self.module, self.scopes, self.method)
        inner.function(node)
        for decorator in node.decorator_list:
            self.add("decorator", decorator, "nested functions take no decorators")
        self.findings += inner.findings

    def _only_self(self, arguments: ast.arguments, node: ast.AST) -> None:
        """Only a method's own `self` may be assigned to, so no inner function has another."""
        if self.method is not None and any(a.arg == "self" for a in parameters(arguments)):
            self.add("rebinding", node, "self is bound once, as the first parameter")

    def function(self, node: ast.FunctionDef) -> None:
        """Check a function's parameters and body; decorators are the caller's affair."""
        own = locals_of(node)
        self.in_function = True
        outer = self.scopes
        self.scopes = (*outer, own)
        self.received = frozenset(a.arg for a in [*node.args.posonlyargs, *node.args.args])
        self.received |= {a.arg for a in node.args.kwonlyargs}
        if self.method is not None:
            self.received |= {"self"}
        for name in sorted(own & set(self.module.aliases)):
            self.add("rebinding", node, f"{name} hides an import; choose another name")
        self.shared = self._shared(node)
        if getattr(node, "type_params", None):
            self.add("syntax_not_allowed", node, "functions take no type parameters")
        self.check_defaults(node.args)
        self.visit(node.args)
        self.annotation(node.returns)
        for statement in node.body:
            self.visit(statement)
        self.scopes = outer

    def _shared(self, node: ast.FunctionDef) -> frozenset[str]:
        """Locals that name part of a module-level container, of `self` or of a parameter."""
        handed: dict[str, set[str]] = {}  # name -> names assigned from it
        for target, value in bindings(node):
            for root in roots(value):
                handed.setdefault(root, set()).update(names_of(target))
        todo = [root for root in handed if self._outlives(root)]
        found: set[str] = set()
        while todo:
            new = handed.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return frozenset(found)

    def _outlives(self, name: str) -> bool:
        if name in self.shared or name in self.received:
            return True
        return not self.is_local(name) and self.module.binds(name)

    # Names and attributes.

    def global_name(self, node: ast.Name) -> None:
        if node.id == "super" and self.in_init:
            return
        if node.id in self.module.mutables and self.in_function:
            text = f"{node.id} is a module-level container: only look things up in it; {_STATE}"
            self.add("state", node, text)
            return
        super().global_name(node)

    def path_allowed(self, path: str) -> bool:
        if self.in_init:
            if path in _INIT_TORCH or path.startswith("torch.nn.init."):
                return path.count(".") <= 3
            layer = path.removeprefix("torch.nn.")
            if layer != path and layer.isidentifier() and layer[:1].isupper():
                return True
        return super().path_allowed(path)

    def member(self, node: ast.Attribute) -> bool:
        name, value = node.attr, node.value
        if isinstance(value, ast.Name) and value.id == "self" and self.method is not None:
            api = name in host_names.MODULE_API and self.in_init
            known = name in self.module.members or name == "training"
            if name.startswith("__") or not (api or known):
                self.add("attribute", node, f"self.{name[:60]} is set nowhere in __init__")
            return False
        if name == "__init__" and self.in_init and calls(value, "super"):
            self.arguments_of(value)
            return False
        if isinstance(value, ast.Name) and not self.is_local(value.id):
            if value.id in self.module.kernels:
                text = f"launch with {value.id}[grid](...); {value.id}.{name} is not accepted"
                self.add("kernel_internals", node, text)
                return False
            if value.id in self.module.mutables and name in _READ_METHODS:
                return False
        return super().member(node)

    def arguments_of(self, call: ast.expr) -> None:
        if isinstance(call, ast.Call):
            for argument in call.args:
                if not (isinstance(argument, ast.Name) and argument.id in {"self"}):
                    self.visit(argument)

    def value_attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        if name in host_names.MUTATORS and node is not self._called:
            text = f".{name} is called where it is named; {_STATE}"
            self.add("state", node, text)
        if name in host_names.HOST_DATA:
            text = f".{name}: data stays on the device and launches do not depend on values"
            self.add("host_data", node, text)
        elif name in host_names.VALUE_ATTRIBUTES or name in host_names.LAYER_ATTRIBUTES:
            return
        elif name in host_names.KERNEL_INTERNALS:
            text = f".{name}: launch with kernel[grid](...); the rest of a kernel is off limits"
            self.add("kernel_internals", node, text)
        elif self.method is not None and root_is_self(node) and self._of_layer(name):
            return
        elif name in ("clone",):
            self.add(
                "clone", node, ".clone() copies on the host side; let a kernel write", "suspicious"
            )
        elif host_names.is_compute(name):
            self.add("tensor_compute", node, f".{name}: {_NO_COMPUTE}")
        else:
            self.add("attribute", node, f".{name[:60]} is not on the list of accepted attributes")

    def _of_layer(self, name: str) -> bool:
        """Whether a name is on a layer or submodule kept on `self`."""
        return name in self.module.members or (self.in_init and name in host_names.INITIALISERS)

    def visit_Name(self, node: ast.Name) -> None:  # noqa: N802
        if self.method is not None and node.id == "self" and not isinstance(node.ctx, ast.Load):
            self.add("rebinding", node, "self is bound once, as the first parameter")
        super().visit_Name(node)

    # Calls and operators.

    def visit_Expr(self, node: ast.Expr) -> None:  # noqa: N802
        self._statement = node.value
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:  # noqa: N802
        function = node.func
        if isinstance(function, ast.Subscript) and node is not self._statement:
            base = function.value
            if not (isinstance(base, ast.Name) and base.id in self.module.mutables):
                text = "a launch is a statement of its own; what it returns is not used"
                self.add("launch_value", node, text)
        if isinstance(function, ast.Name) and function.id in ("str", "repr"):
            self.text_of(node, f"{function.id}(...)")
        self._called = function
        if isinstance(function, ast.Attribute) and self.module.dotted(function) is None:
            self._method_call(function, node)
        skipped: list[ast.expr] = []
        if isinstance(function, ast.Name) and function.id in _READERS:
            skipped = [a for a in node.args if self._container(a)]
        self.visit(function)
        for argument in node.args:
            if argument not in skipped:
                self.visit(argument)
        for keyword in node.keywords:
            self.visit(keyword)

    def _container(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Name)
            and node.id in self.module.mutables
            and not self.is_local(node.id)
        )

    def _method_call(self, function: ast.Attribute, call: ast.Call) -> None:
        name, value = function.attr, function.value
        on_self = isinstance(value, ast.Name) and value.id == "self" and self.method is not None
        if on_self and not self.in_init and name not in self.module.methods:
            self.add("tensor_compute", call, f"self.{name[:60]}(...): {_NO_COMPUTE}")
        elif not on_self and root_is_self(function) and not self.in_init:
            allowed = name in host_names.VALUE_ATTRIBUTES
            if not allowed and name not in host_names.HOST_DATA and name != "clone":
                self.add("tensor_compute", call, f".{name[:60]}(...): {_NO_COMPUTE}")
        if name in ("max", "min"):
            self.add("tensor_compute", call, f".{name}(...): {_NO_COMPUTE}")
        own_method = on_self and name in self.module.methods
        if name in host_names.MUTATORS and not own_method:
            self.mutation(value, call, f".{name}(...)")
        if name == "type" or (name == "to" and not self._device_move(call)):
            self.add("tensor_compute", call, f".{name}: convert in a kernel; host code moves only")

    def _device_move(self, call: ast.Call) -> bool:
        """Whether `.to(...)` has a device and nothing that may be a dtype."""
        values = [*call.args, *(k.value for k in call.keywords)]
        named = all(k.arg in ("device", "non_blocking") for k in call.keywords)
        return named and bool(values) and all(self._device(value) for value in values)

    def _device(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str | bool | int)
        if isinstance(node, ast.Attribute):
            return node.attr == "device"
        if isinstance(node, ast.Name):
            return "dev" in node.id.lower()
        return isinstance(node, ast.Call) and self.module.dotted(node.func) in (
            "torch.device",
            "torch.cuda.current_device",
        )

    def visit_BinOp(self, node: ast.BinOp) -> None:  # noqa: N802
        left = node.left
        formats = isinstance(left, ast.JoinedStr) or (
            isinstance(left, ast.Constant) and isinstance(left.value, str | bytes)
        )
        if isinstance(node.op, ast.Mod) and formats:
            self.text_of(node.right, "a % of a string")
        if isinstance(node.op, ast.MatMult):
            self.add("tensor_compute", node, f"@: {_NO_COMPUTE}")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        display = isinstance(node.value, ast.List | ast.ListComp | ast.Dict | ast.Set)
        if isinstance(node.target, ast.Name) and display:
            self.mutation(node.target, node, " += ...")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:  # noqa: N802
        self.visit(node.left)
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if not (isinstance(operator, ast.In | ast.NotIn) and self._container(right)):
                self.visit(right)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg is not None or not self._container(node.value):
            super().visit_keyword(node)

    def visit_Starred(self, node: ast.Starred) -> None:  # noqa: N802
        if not self._container(node.value):
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:  # noqa: N802
        if not isinstance(node.ctx, ast.Load):
            self.mutation(node, node, "[...] = ")
        if not self._container(node.value):
            self.visit(node.value)
        self.visit(node.slice)

    def visit_Attribute(self, node: ast.Attribute) -> None:  # noqa: N802
        if not isinstance(node.ctx, ast.Load):
            on_self = isinstance(node.value, ast.Name) and node.value.id == "self"
            if not (on_self and self.in_init):
                text = f"assigning .{node.attr[:60]} keeps state or changes a library; {_STATE}"
                self.add("state", node, text)
        super().visit_Attribute(node)

    def mutation(self, target: ast.expr, node: ast.AST, how: str) -> None:
        """A change in place of what `target` names: allowed on the function's own containers."""
        for name in roots(target):
            if not self.is_local(name) or (self._outlives(name) and not self.in_init):
                text = f"{name[:60]}{how} changes an object that outlives the call; {_STATE}"
                self.add("state", node, text)

    # Statements and scopes.

    def visit_For(self, node: ast.For) -> None:  # noqa: N802
        self.visit(node.target)
        self.iterable(node.iter)
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def iterable(self, node: ast.expr) -> None:
        if not self._container(node):
            self.visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:  # noqa: N802
        self.fresh((a.arg for a in parameters(node.args)), node)
        self._only_self(node.args, node)
        self.check_defaults(node.args)
        self.visit(node.args)
        outer, inside, received = self.scopes, self.in_function, self.received
        self.scopes = (*outer, locals_of(node))
        self.in_function = True
        self.received = received | {a.arg for a in parameters(node.args)}
        self.visit(node.body)
        self.scopes, self.in_function, self.received = outer, inside, received

    def visit_With(self, node: ast.With) -> None:  # noqa: N802
        for item in node.items:
            call = item.context_expr
            path = self.module.dotted(call.func) if isinstance(call, ast.Call) else None
            if path in host_names.CONTEXTS and item.optional_vars is None:
                self.visit(call)
            else:
                rule, advice = host_names.denied(path) if path else ("with", "")
                text = advice or "with is accepted for torch.cuda.device(...) and torch.no_grad()"
                self.add(rule, call, text)
        for statement in node.body:
            self.visit(statement)
