"""Reads the wrapper that Inductor writes around its kernels."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kernelvault.agents.inductor.writer.errors import UnsupportedError

_DROPPED = ("assert_size_stride", "assert_alignment", "copy_if_misaligned", "get_raw_stream")


@dataclass(frozen=True)
class Allocate:
    """A new buffer: sizes, strides and dtype as Python text."""

    name: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class View:
    """`name` is `base` seen with other sizes and strides, from `offset` elements on."""

    name: str
    base: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]
    offset: str


@dataclass(frozen=True)
class Define:
    """A name for a size or for another buffer."""

    name: str
    value: str


@dataclass(frozen=True)
class Launch:
    """A kernel with its arguments in order; a fixed grid's three sizes are the last of them."""

    kernel: str
    arguments: tuple[str, ...]


Step = Allocate | View | Define | Launch


@dataclass
class Wrapper:
    """What the wrapper does. `kernels` maps a name to its text, `inputs` are its own names."""

    kernels: dict[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)
    outputs: tuple[str, ...] = ()


def read_wrapper(code: str) -> Wrapper:
    """The kernels and steps of an output module; raises UnsupportedError for what is no launch."""
    tree, found = ast.parse(code), Wrapper()
    for node in tree.body:
        if _calls(node, "async_compile.triton"):
            assert isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            name, text = (ast.literal_eval(argument) for argument in node.value.args[:2])
            found.kernels[name] = text
    call = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "call"), None)
    if call is None:
        raise UnsupportedError("Inductor's output has no function to call")
    for statement in _flat(call.body):
        _read(statement, found)
    return found


def _calls(node: ast.AST, name: str) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and ast.unparse(value.func) == name


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.With):
            yield from _flat(statement.body)
        else:
            yield statement


def _read(statement: ast.stmt, found: Wrapper) -> None:
    if isinstance(statement, ast.Delete):
        return
    if isinstance(statement, ast.Return):
        assert isinstance(statement.value, ast.Tuple)
        found.outputs = tuple(_output(item, found) for item in statement.value.elts)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        _read_call(statement.value, found)
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        _read_assign(statement.targets[0], statement.value, found)
    else:
        raise UnsupportedError(f"the host code {ast.unparse(statement)[:120]}")


def _read_call(call: ast.Call, found: Wrapper) -> None:
    target = ast.unparse(call.func)
    if target in (*_DROPPED, "args.clear", "torch.cuda.set_device"):
        return
    kernel, _, method = target.rpartition(".")
    if method != "run" or kernel not in found.kernels:
        raise UnsupportedError(f"{target} is no Triton kernel")
    arguments = tuple(ast.unparse(argument) for argument in call.args)
    found.steps.append(Launch(kernel, arguments))


def _read_assign(target: ast.expr, value: ast.expr, found: Wrapper) -> None:
    if ast.unparse(value) == "args":
        assert isinstance(target, ast.Tuple)
        found.inputs = tuple(ast.unparse(item) for item in target.elts)
        return
    name = ast.unparse(target)
    if isinstance(value, ast.Call):
        called = ast.unparse(value.func)
        if called in _DROPPED:
            return
        if called == "empty_strided_cuda":
            sizes, strides, dtype = value.args
            made = Allocate(name, _tuple(sizes), _tuple(strides), ast.unparse(dtype))
            found.steps.append(made)
            return
        if called == "reinterpret_tensor":
            found.steps.append(_view(name, value))
            return
        if not called.endswith(".size"):
            raise UnsupportedError(f"{called} is no Triton kernel")
    if not isinstance(target, ast.Name) or not _is_size(value):
        raise UnsupportedError(f"the host code {name} = {ast.unparse(value)[:120]}")
    found.steps.append(Define(name, ast.unparse(value)))


def _is_size(value: ast.expr) -> bool:
    """Whether an expression is arithmetic on sizes or the name of a buffer."""
    allowed = (
        ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.operator, ast.unaryop,
        ast.expr_context, ast.Call, ast.Attribute,
    )  # fmt: skip
    return all(isinstance(node, allowed) for node in ast.walk(value))


def _tuple(value: ast.expr) -> tuple[str, ...]:
    assert isinstance(value, ast.Tuple)
    return tuple(ast.unparse(item) for item in value.elts)


def _view(name: str, call: ast.Call) -> View:
    base, sizes, strides, offset = call.args
    if not isinstance(base, ast.Name):
        raise UnsupportedError("a view of a view")
    return View(name, base.id, _tuple(sizes), _tuple(strides), ast.unparse(offset))


def _output(value: ast.expr, found: Wrapper) -> str:
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "reinterpret_tensor":
        name = f"result{len(found.steps)}"
        found.steps.append(_view(name, value))
        return name
    raise UnsupportedError(f"the output {ast.unparse(value)[:120]}")


def is_dense(sizes: tuple[str, ...], strides: tuple[str, ...], symbols: Mapping[str, int]) -> bool:
    """Whether strides are row-major, tried on one value for each symbol."""
    step = 1
    for size, stride in reversed(list(zip(sizes, strides, strict=True))):
        extent = eval(size, {"__builtins__": {"max": max, "min": min}, **symbols})
        if extent != 1 and eval(stride, {"__builtins__": {"max": max}, **symbols}) != step:
            return False
        step *= extent
    return True
