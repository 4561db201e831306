"""Which arguments a problem is tried on: the file's own cases, or variations of get_inputs()."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from kernelvault.problems.reference.load import guarded, tensors
from kernelvault.problems.reference.philox import PhiloxMode
from kernelvault.problems.reference.reject import Rejected

NATIVE_CASE = -1
MAX_ELEMENTS = 2_000_000
SEEDS = (0, 1, 2)
# Native arguments up to this many elements are made, to export from; they are not run here.
MAX_NATIVE_ELEMENTS = 64_000_000
_VARIED_SIZES = (1, 3, 33, 65)
_SHRUNKEN_SIZES = (1, 3, 33, 65, 100, 128)


@dataclass(frozen=True)
class Case:
    """Arguments of one workload and the recipe they came from."""

    index: int
    seed: int
    args: list[Any]


def performance_shapes(module: types.ModuleType) -> list[tuple[list[int], str]]:
    """Shapes and dtypes of get_inputs(), counted on fake tensors: they may need gigabytes."""

    args = _fake(module.get_inputs)
    return [(list(t.shape), str(t.dtype).removeprefix("torch.")) for t in tensors(args)]


def own_cases(module: types.ModuleType) -> list[Case]:
    """The file's cases under the first seed, and its first case under a second one."""
    # Counted on fake tensors first: an oversized case must not fill the memory to be found.
    try:
        counted = _fake(lambda: [list(args) for args in module.get_cases("correctness")])
    except Rejected:
        counted = []  # the cases read values, which fake tensors do not have
    for index, args in enumerate(counted):
        elements = sum(t.numel() for t in tensors(args))
        _refuse_large(elements, f"case {index}", MAX_ELEMENTS)
    found = []
    for seed in SEEDS[:2]:

        def make(seed: int = seed) -> Any:
            with PhiloxMode(seed):
                return [list(args) for args in module.get_cases("correctness")]

        made = guarded("inputs_failed", 'get_cases("correctness") failed', make)
        chosen = made if seed == SEEDS[0] else made[:1]
        found += [Case(index, seed, args) for index, args in enumerate(chosen)]
    return found


def is_large(module: types.ModuleType) -> bool:
    """Whether get_inputs() is too large to be a workload itself.

    Rejects what is too large even to export from.
    """
    elements = sum(int(np.prod(shape)) for shape, _ in performance_shapes(module))
    _refuse_large(elements, "get_inputs()", MAX_NATIVE_ELEMENTS)
    return elements > MAX_ELEMENTS


def native_case(module: types.ModuleType, seed: int) -> Case:
    """get_inputs() under a seed."""

    def make() -> Any:
        with PhiloxMode(seed):
            return list(module.get_inputs())

    return Case(NATIVE_CASE, seed, guarded("inputs_failed", "get_inputs() failed", make))


def native_cases(module: types.ModuleType) -> list[Case]:
    """get_inputs() under three seeds."""
    return [native_case(module, seed) for seed in SEEDS]


def variations(
    native: Case, inputs: Sequence[Sequence[int | str]], shrink: bool = False
) -> list[Case]:
    """`native` with its symbolic dimensions set to other sizes, values drawn from the native ones;
    `shrink` gives more sizes, because the native one will be none of them.

    `inputs` are the symbolic shapes of the user inputs; entries that are expressions stay fixed
    to what the symbols give, so only plain symbols are varied.
    """
    found: list[Case] = []
    symbols = {entry for shape in inputs for entry in shape if isinstance(entry, str)}
    if not symbols or not all(symbol.isidentifier() for symbol in symbols):
        return found
    for size in _SHRUNKEN_SIZES if shrink else _VARIED_SIZES:
        rng = np.random.Generator(np.random.Philox(size))
        shapes = [[size if isinstance(e, str) else e for e in shape] for shape in inputs]
        leaves, tree = pytree.tree_flatten(native.args)
        positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        if any(int(np.prod(shape)) > MAX_ELEMENTS for shape in shapes):
            continue
        for position, shape in zip(positions, shapes, strict=True):
            flat = leaves[position].reshape(-1)
            picks = rng.integers(0, flat.numel(), int(np.prod(shape)))
            leaves[position] = flat[torch.from_numpy(picks)].reshape(shape)
        found.append(Case(NATIVE_CASE, size, list(pytree.tree_unflatten(leaves, tree))))
    return found


def _fake(make: Callable[[], Any]) -> Any:
    def call() -> Any:
        with FakeTensorMode():
            return make()

    return guarded("inputs_failed", "the inputs cannot be made", call)


def _refuse_large(elements: int, what: str, limit: int) -> None:
    if elements > limit:
        text = f"{what} has {elements} elements, {limit} are possible on this tier"
        raise Rejected("too_large", text, "define get_cases(kind) with small argument lists")
