"""Copies the device functions that a kernel calls: ours, else those of `triton_helpers`."""

from __future__ import annotations

import ast
import inspect
import re

import triton
from torch._inductor.runtime import triton_helpers
from triton.runtime.jit import JITFunction

from kernelvault.agents.inductor.writer import reductions
from kernelvault.agents.inductor.writer.errors import UnsupportedError

_USE = re.compile(r"\btriton_helpers\.(\w+)")
# Constants of `triton_helpers` that its functions read, as plain text.
_CONSTANTS = {"_LOG_2_E": "_LOG_2_E: tl.constexpr = tl.constexpr(1.4426950408889634)"}
_CREDIT = "# From PyTorch's torch/_inductor/runtime/triton_helpers.py (BSD-3-Clause)."
_MATH = re.compile(r"(?<![\w.])(?:tl_math|math)\.(\w+)")


def plain_calls(text: str) -> str:
    """Kernel text whose calls into PyTorch's modules are calls of plain names and of `tl`."""
    text = text.replace("triton_helpers.libdevice.", "libdevice.")
    text = text.replace("triton_helpers.math.", "tl_math.")
    return _USE.sub(lambda use: use.group(1), _math(text))


def _math(text: str) -> str:
    def spelled(use: re.Match[str]) -> str:
        name = use.group(1)
        return f"tl.{name}" if hasattr(triton.language, name) else f"tl.math.{name}"

    return _MATH.sub(spelled, text)


def helper_sources(text: str) -> list[str]:
    """Sources of the helpers that the kernel text needs, each after those that it calls itself.

    Raises UnsupportedError for a helper that is no plain jit function.
    """
    ordered: dict[str, str] = {}
    for name in dict.fromkeys(_USE.findall(text)):
        if name not in ("libdevice", "math"):
            _collect(name, ordered)
    return list(ordered.values())


def _collect(name: str, ordered: dict[str, str]) -> None:
    if name in ordered:
        return
    if name in _CONSTANTS:
        ordered[name] = _CONSTANTS[name]
        return
    own = getattr(reductions, name, None)
    helper = getattr(triton_helpers, name, None) if own is None else own
    if not isinstance(helper, JITFunction):
        raise UnsupportedError(f"a kernel needs triton_helpers.{name}, which is no jit function")
    source = inspect.getsource(helper.fn).rstrip()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id != name and _is_helper(node.id):
            _collect(node.id, ordered)
    ordered[name] = source if own is not None else f"{_CREDIT}\n{_math(source)}"


def _is_helper(name: str) -> bool:
    return name in _CONSTANTS or isinstance(getattr(triton_helpers, name, None), JITFunction)
