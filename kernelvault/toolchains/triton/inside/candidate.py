"""Loads a candidate's module and makes one function of it, whatever form it has."""

from __future__ import annotations

import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch


class CandidateError(Exception):
    """The candidate's own doing; the message is fit to show to its author."""


def chain(raised: BaseException) -> list[BaseException]:
    """An exception with its causes, outermost first; a candidate may have tied them in a knot."""
    found = [raised]
    while (cause := found[-1].__cause__ or found[-1].__context__) is not None:
        if any(cause is known for known in found):
            break
        found.append(cause)
    return found


def text(error: BaseException, limit: int = 600) -> str:
    """What an exception says, as text that can be written anywhere."""
    try:
        said = str(error)
    except Exception as other:  # noqa: BLE001  (a candidate's objects may fail to show themselves)
        said = f"(its message cannot be shown: {type(other).__name__})"
    return said[:limit].encode("utf-8", "replace").decode()


def plain(value: Any) -> Any:
    """A constant as JSON has it: numbers, texts, booleans and None; names of anything else."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, bool | int | float | None) and abs(value or 0) < 1 << 63:
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if hasattr(value, "value"):
        return plain(value.value)
    return str(getattr(value, "__name__", None) or getattr(value, "name", type(value).__name__))


@dataclass(frozen=True, slots=True)
class Names:
    """The signature's names: tensors as (name, kind), scalars in order."""

    tensors: tuple[tuple[str, str], ...]
    scalars: tuple[str, ...]


Building = Callable[[], AbstractContextManager[None]]
Entry = Callable[[Sequence[torch.Tensor], Sequence[Any]], Any]


def load(path: str, names: Names, building: Building) -> Entry:
    """The candidate's entry as `entry(tensors, scalars)`; raises CandidateError when it has none.

    A `ModelNew` is built inside `building()`. Runs the module: only called inside a sandbox.
    """
    spec = importlib.util.spec_from_file_location("candidate", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    if callable(function := getattr(module, "module_fn", None)):
        return _function_entry(function)
    if inspect.isclass(model := getattr(module, "ModelNew", None)):
        return _model_entry(model, names, building)
    raise CandidateError("the file defines neither module_fn nor ModelNew")


def _function_entry(function: Callable[..., Any]) -> Entry:
    def entry(tensors: Sequence[torch.Tensor], scalars: Sequence[Any]) -> Any:
        takes_scalars = _accepts(function, len(tensors) + len(scalars))
        return function(*tensors, *(scalars if takes_scalars else ()))

    return entry


def _accepts(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    return True


def _model_entry(model: type[Any], names: Names, building: Building) -> Entry:
    """KernelBench's form: built from the scalars it names, parameters given by the signature."""

    def entry(tensors: Sequence[torch.Tensor], scalars: Sequence[Any]) -> Any:
        known = dict(zip(names.scalars, scalars, strict=True))
        with building():
            built = model(**_chosen(model.__init__, known, "ModelNew"))
        given = list(zip(names.tensors, tensors, strict=True))
        for (name, kind), tensor in given:
            if kind in ("parameter", "buffer"):
                _place(built, name, tensor)
        users = [tensor for (_, kind), tensor in given if kind == "user"]
        own = inspect.signature(built.forward).parameters
        extra = {name: value for name, value in known.items() if name in own}
        return built(*users, **extra)

    return entry


def _chosen(function: Callable[..., Any], known: dict[str, Any], what: str) -> dict[str, Any]:
    chosen = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name in known:
            chosen[name] = known[name]
        elif parameter.default is parameter.empty:
            have = ", ".join(known) or "none"
            raise CandidateError(f"{what} asks for {name!r}; the problem's scalars: {have}")
    return chosen


def _place(built: torch.nn.Module, name: str, tensor: torch.Tensor) -> None:
    path, _, leaf = name.rpartition(".")
    try:
        owner = built.get_submodule(path)
    except AttributeError:
        raise CandidateError(f"ModelNew has no submodule for the parameter {name!r}") from None
    if leaf in owner._parameters:
        owner._parameters[leaf] = torch.nn.Parameter(tensor, requires_grad=False)
    elif leaf in owner._buffers:
        owner._buffers[leaf] = tensor
    else:
        raise CandidateError(f"ModelNew has no parameter {name!r}, which the reference has")


def outputs(result: Any) -> list[torch.Tensor]:
    """The flat list of output tensors; raises CandidateError for anything else."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if not isinstance(result, tuple | list) or not result:
        raise CandidateError(f"returned {type(result).__name__}, not a tensor or a tuple of them")
    flat = []
    for item in result:
        flat += outputs(item)
    return flat
