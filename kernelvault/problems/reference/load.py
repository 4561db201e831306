"""Loads a problem file and builds its model and arguments."""

from __future__ import annotations

import copy
import inspect
import re
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelvault.problems.reference.philox import ForbidRandom, PhiloxMode
from kernelvault.problems.reference.reject import PROBLEM_FILE, Rejected, describe

INIT_SEED = 20_240_229
_GPU_SIGN = re.compile(r"\b(cuda|hip|rocm|nvidia)\b", re.IGNORECASE)


def load(source: str) -> types.ModuleType:
    """Execute a problem file; rejects files that do not parse, import or declare what is needed."""
    module = types.ModuleType("problem")
    module.__file__ = PROBLEM_FILE
    try:
        code = compile(source, PROBLEM_FILE, "exec")
    except (SyntaxError, ValueError) as error:
        raise Rejected("syntax", f"the file is not Python: {error}", "mend the file") from error
    guarded("import_error", "the file cannot be imported", lambda: exec(code, module.__dict__))
    model = getattr(module, "Model", None)
    if not (isinstance(model, type) and issubclass(model, torch.nn.Module)):
        step = "define `class Model(torch.nn.Module)`"
        raise Rejected("no_model", "the file has no class Model", step)
    if not callable(getattr(module, "get_inputs", None)):
        step = "define get_inputs() that returns the list of forward's arguments"
        raise Rejected("no_get_inputs", "the file has no function get_inputs", step)
    return module


def guarded(reason: str, what: str, call: Callable[[], Any]) -> Any:
    """Run a piece of the problem file; whatever it raises is a rejection."""
    try:
        return call()
    except Rejected:
        raise
    except (Exception, SystemExit) as error:  # the file may raise anything at all
        text = describe(error)
        if _GPU_SIGN.search(text):
            step = "keep devices out of the file: tensors are placed by whoever runs it"
            raise Rejected("needs_gpu", f"{what} without a GPU: {text}", step) from error
        raise Rejected(reason, f"{what}: {text}", "run the file by itself and mend it") from error


def init_inputs(module: types.ModuleType) -> list[Any]:
    """What Model is built from (KernelBench's list, or a pair of list and dict)."""
    make = getattr(module, "get_init_inputs", list)
    return list(guarded("init_failed", "get_init_inputs() failed", make))


def build_model(module: types.ModuleType, given: Sequence[Any]) -> torch.nn.Module:
    """The model with parameters from Philox, in the mode the file leaves it."""

    def make() -> torch.nn.Module:
        with PhiloxMode(INIT_SEED):
            if len(given) == 2 and isinstance(given[0], list) and isinstance(given[1], dict):
                built: torch.nn.Module = module.Model(*given[0], **given[1])
            else:
                built = module.Model(*given)
        return built

    model: torch.nn.Module = guarded("init_failed", "Model cannot be built", make)
    return model


def run(model: torch.nn.Module, args: Sequence[Any]) -> list[torch.Tensor]:
    """Flattened outputs of one forward on copies, so that state and arguments stay as they are."""
    own = copy.deepcopy(model)
    given = copy.deepcopy(list(args))

    def forward() -> Any:
        with torch.no_grad(), ForbidRandom():
            return own(*given)

    outputs = pytree.tree_leaves(guarded("forward_failed", "forward failed", forward))
    if not outputs or not all(isinstance(output, torch.Tensor) for output in outputs):
        kinds = ", ".join(sorted({type(output).__name__ for output in outputs})) or "nothing"
        step = "return tensors, or tuples, lists and dicts of them"
        raise Rejected("not_tensors", f"forward returns {kinds}", step)
    for before, after in zip(tensors(args), tensors(given), strict=True):
        if not same(before, after):
            step = "clone the argument before writing to it"
            raise Rejected("input_mutation", "forward writes to its arguments", step)
    return [output.detach().contiguous() for output in outputs]


def tensors(args: Any) -> list[torch.Tensor]:
    """The tensor leaves of arguments, in order."""
    return [leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, torch.Tensor)]


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Bitwise equality, NaN included."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return bool(torch.equal(raw_bytes(left), raw_bytes(right)))


def raw_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor in row-major order as a flat uint8 tensor."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def scalars(module: types.ModuleType, given: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """[name, type, value] of every int, float and bool leaf of forward and init arguments."""
    found = []
    for function, values in ((module.Model.forward, args), (module.Model.__init__, given)):
        names = [name for name in inspect.signature(function).parameters if name != "self"]
        for position, value in enumerate(values):
            name = names[position] if position < len(names) else f"argument{position}"
            leaves = [v for v in pytree.tree_leaves(value) if isinstance(v, bool | int | float)]
            for index, leaf in enumerate(leaves):
                label = name if len(leaves) == 1 else f"{name}_{index}"
                found.append([label, type(leaf).__name__, leaf])
    return found
