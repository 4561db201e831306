"""The embedded lists of Triton's names agree with the installed release, read without importing."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from kernelvault.verification.static_triton import host_names, triton_names
from kernelvault.verification.static_triton.model import FORBIDDEN_BUILTINS


def _tree(relative: str) -> ast.Module:
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        pytest.skip("triton is not installed")
    return ast.parse((Path(spec.origin).parent / relative).read_text(encoding="utf-8"))


def _functions(relative: str) -> set[str]:
    names = {n.name for n in _tree(relative).body if isinstance(n, ast.FunctionDef)}
    return {name for name in names if not name.startswith("_")}


def _exported(relative: str) -> set[str]:
    for node in _tree(relative).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    raise AssertionError(f"{relative} has no __all__")


def test_language_holds_every_public_name_but_the_modules() -> None:
    modules = {"math", "extra", "target_info"}
    assert _exported("language/__init__.py") - modules <= triton_names.LANGUAGE


def test_math_and_libdevice_are_those_of_the_installed_release() -> None:
    assert _functions("language/math.py") == triton_names.MATH
    assert _functions("language/extra/hip/libdevice.py") == triton_names.AMD_LIBDEVICE


def test_tensor_methods_are_accepted_in_kernels() -> None:
    (tensor,) = (
        node
        for node in _tree("language/core.py").body
        if isinstance(node, ast.ClassDef) and node.name == "tensor"
    )
    methods = {n.name for n in tensor.body if isinstance(n, ast.FunctionDef)}
    assert {m for m in methods if not m.startswith("_")} <= triton_names.VALUE_ATTRIBUTES


@pytest.mark.parametrize(
    "name",
    """eval exec compile open getattr setattr delattr hasattr globals locals vars dir __import__
    type object input breakpoint memoryview id classmethod help exit quit SystemExit
    BaseException""".split(),
)
def test_builtins_that_reach_out_are_forbidden(name: str) -> None:
    assert name in FORBIDDEN_BUILTINS | {"exit", "quit", "help"}
    assert name not in host_names.BUILTINS


def test_no_accepted_attribute_leads_to_internals() -> None:
    for names in (host_names.VALUE_ATTRIBUTES, triton_names.VALUE_ATTRIBUTES):
        assert not [n for n in names if n.startswith("_") or host_names.FRAME_ATTRIBUTES.match(n)]
        assert not names & {"handle", "fn", "cache", "run", "warmup", "format", "format_map"}
