"""Triton's interpreter, repaired: it computes what the compiled kernel computes, or refuses.

Import it in a process whose environment had `TRITON_INTERPRET=1` before triton was imported, and
call `install` before a candidate is imported. It depends on NumPy, torch and triton alone, so that
the folder can be mounted by itself.
"""

from types import SimpleNamespace
from typing import Any

from triton import knobs
from triton.runtime import interpreter

from . import arithmetic, casts, extern, linear, report, source
from .contract import Guard, Refused, refusals, refuse
from .language import bind_language
from .launch import call, launch
from .memory import Memory
from .speed import remember_shapes

__all__ = ["Guard", "Refused", "install", "refusals"]

_installed: list[Guard] = []


def _missing_operation(self: Any, name: str) -> Any:
    if name.startswith(("create_", "get_")):
        refuse(name.removeprefix("create_").removeprefix("get_"))
    raise AttributeError(name)


def _options() -> interpreter.InterpreterOptions:
    """Options of the AMD backend; assertions on, checks for integer overflow off."""
    return interpreter.InterpreterOptions(
        debug=True,
        sanitize_overflow=False,
        arch="gfx942",
        supported_fp8_dtypes=("fp8e4nv", "fp8e5", "fp8e5b16", "fp8e4b8"),
        default_dot_input_precision="ieee",
        allowed_dot_input_precisions=("ieee", "tf32", "bf16x3", "bf16x6"),
        backend_name="hip",
    )


def install(guard: Guard, *, xf32: bool = True) -> None:
    """Patch `triton.runtime.interpreter` for the rest of the process.

    `guard.check` is called before every access to memory; what it raises ends the launch. With
    `xf32`, a float32 `tl.dot` of precision `tf32`, which is the default on gfx942, rounds its
    operands to 10 mantissa bits.

    Raises:
        RuntimeError: when it is already installed with another guard, or when triton was imported
            without `TRITON_INTERPRET=1`.
    """
    if not knobs.runtime.interpret:
        raise RuntimeError("set TRITON_INTERPRET=1 before triton is imported")
    if _installed:
        if _installed[0] is guard:
            return
        raise RuntimeError("the interpreter is installed with another guard")
    _installed.append(guard)
    builder = interpreter.InterpreterBuilder
    tables = (casts, arithmetic, linear, extern, report)
    methods = {name: method for table in tables for name, method in table.METHODS.items()}
    methods |= Memory(guard).methods()
    methods |= {"create_dot": linear.dot(xf32), "__getattr__": _missing_operation}
    for name, method in methods.items():
        setattr(builder, name, method)
    interpreter.interpreter_builder.options = _options()
    remember_shapes()
    replaced = bind_language()
    interpreter._patch_lang = lambda function: SimpleNamespace(restore=lambda: None)
    interpreter.GridExecutor.__call__ = launch
    interpreter.InterpretedFunction.__call__ = call
    rewriter = interpreter.FunctionRewriter
    rewriter.ast_transformer = source.Rewriter()
    rewriter._find_def = source.find_definition
    rewriter._compile_and_exec = source.executor(replaced)
