"""Everything the parent needs to know of a problem, in one JSON manifest."""

from __future__ import annotations

import copy
import types
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelvault.problems.reference import cases as case_list
from kernelvault.problems.reference.cases import Case
from kernelvault.problems.reference.derive import Derived, derive, functional
from kernelvault.problems.reference.emit import Writer
from kernelvault.problems.reference.load import (
    build_model,
    init_inputs,
    load,
    run,
    same,
    scalars,
    tensors,
)
from kernelvault.problems.reference.reject import Rejected

MIN_WORKLOADS = 4
# The largest size a 32-bit index can hold stands for "no upper bound" in exported ranges.
_UNBOUNDED = 2**31 - 1


def manifest(source: str, writer: Writer) -> dict[str, Any]:
    """Run the problem file and describe it; raises Rejected."""
    module = load(source)
    given = init_inputs(module)
    model = build_model(module, given)
    cases, derived = _cases(module, model)
    cases = [case for case in cases if _fits(derived, case)]
    if len(cases) < MIN_WORKLOADS:
        text = f"{len(cases)} workloads fit the exported form, {MIN_WORKLOADS} are needed"
        raise Rejected("too_few_workloads", text, "define get_cases(kind) with more cases")
    leaves = scalars(module, given, cases[0].args)
    if any(scalars(module, given, case.args) != leaves for case in cases):
        step = "make it an init input or keep it fixed"
        raise Rejected("varying_scalars", "a scalar argument differs between cases", step)
    workloads, precise = [], True
    for case in cases:
        native = _native(model, derived, case)
        wide, wide_ok = _wide(model, case, native)
        precise = precise and wide_ok
        workloads.append(_entry(writer, case, native, wide))
    performance = case_list.performance_shapes(module)
    return {
        "signature": _signature(derived, leaves),
        "symbols": _symbols(derived, cases),
        "graph": _graph(derived),
        "fixed": [writer.tensor(s.value) for s in derived.slots if s.value is not None],
        "mode": "train" if model.training else "eval",
        "reference_precision": "float64" if precise else "float32",
        "workloads": workloads,
        "performance": [[shape, dtype] for shape, dtype in performance],
    }


def _cases(module: types.ModuleType, model: torch.nn.Module) -> tuple[list[Case], Derived]:
    own = callable(getattr(module, "get_cases", None))
    if not own and case_list.is_large(module):
        return _shrunken(module, model)
    cases = case_list.own_cases(module) if own else case_list.native_cases(module)
    if not cases:
        step = "return at least four argument lists"
        raise Rejected("too_few_workloads", 'get_cases("correctness") is empty', step)
    for case in cases:
        _refuse_nondeterministic(model, case)
    derived = _derive(model, cases)
    if not own:
        cases += _that_run(model, case_list.variations(cases[0], _user_shapes(derived)))
    return cases, derived


def _shrunken(module: types.ModuleType, model: torch.nn.Module) -> tuple[list[Case], Derived]:
    """Workloads of a problem whose own arguments are too large here: other sizes of the dimensions
    that the exported form leaves open."""
    native = case_list.native_case(module, case_list.SEEDS[0])
    derived = derive(copy.deepcopy(model), native.args, dynamic=True)
    cases = _that_run(model, case_list.variations(native, _user_shapes(derived), shrink=True))
    if len(cases) < MIN_WORKLOADS:
        text = "get_inputs() is too large to run here, and its sizes cannot be varied"
        raise Rejected("too_large", text, "define get_cases(kind) with small argument lists")
    _refuse_nondeterministic(model, cases[-1])
    return cases, derived


def _user_shapes(derived: Derived) -> list[list[int | str]]:
    shape_of = derived.encoder.shape_of
    return [shape_of(s.placeholder)["shape"] for s in derived.slots if s.kind == "user"]


def _that_run(model: torch.nn.Module, cases: Sequence[Case]) -> list[Case]:
    """The cases whose sizes the reference itself takes."""
    found = []
    for case in cases:
        try:
            run(model, case.args)
        except Rejected:
            continue
        found.append(case)
    return found


def _refuse_nondeterministic(model: torch.nn.Module, case: Case) -> None:
    first, second = run(model, case.args), run(model, case.args)
    if len(first) != len(second) or not all(map(same, first, second)):
        step = "keep clocks, counters and unordered sets out of forward"
        raise Rejected("nondeterministic", "two runs on equal arguments differ", step)


def _derive(model: torch.nn.Module, cases: Sequence[Case]) -> Derived:
    # Sizes of 0 and 1 are specialised by export, so the example has as few of them as possible.
    example = max(cases, key=lambda c: (_smallest(c), sum(t.numel() for t in tensors(c.args))))
    try:
        derived = derive(copy.deepcopy(model), example.args, dynamic=True)
        if all(_agrees(model, derived, case) for case in cases if _fits(derived, case)):
            return derived
    except Rejected:
        # Only open sizes may be at fault; fixed ones decide.
        return derive(copy.deepcopy(model), example.args, dynamic=False)
    return derive(copy.deepcopy(model), example.args, dynamic=False)


def _smallest(case: Case) -> int:
    return min((size for t in tensors(case.args) for size in t.shape), default=0)


def _agrees(model: torch.nn.Module, derived: Derived, case: Case) -> bool:
    try:
        got = functional(derived, tensors(case.args))
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False
    return _close(run(model, case.args), got)


def _close(expected: Sequence[torch.Tensor], got: Sequence[torch.Tensor]) -> bool:
    if len(expected) != len(got):
        return False
    for left, right in zip(expected, got, strict=True):
        if left.shape != right.shape or left.dtype != right.dtype:
            return False
        if same(left, right):
            continue
        # Decompositions may add in another order: a few units in the last place, no more.
        eps = torch.finfo(left.dtype).eps if left.is_floating_point() else 0.0
        scale = float(left.double().abs().nan_to_num(0, 0, 0).max()) if left.numel() else 0.0
        if not torch.allclose(
            left.double(), right.double(), rtol=16 * eps, atol=16 * eps * scale, equal_nan=True
        ):
            return False
    return True


def _native(model: torch.nn.Module, derived: Derived, case: Case) -> list[torch.Tensor]:
    outputs = run(model, case.args)
    if not _close(outputs, functional(derived, tensors(case.args))):
        text = f"the exported form disagrees with Model on case {case.index}"
        raise Rejected("unexportable", text, "avoid Python state and branches in forward")
    return outputs


def _wide(
    model: torch.nn.Module, case: Case, native: Sequence[torch.Tensor]
) -> tuple[list[torch.Tensor], bool]:
    """Results in float64 where the model allows it, else its own widened, and which it was."""

    def widen(leaf: Any) -> Any:
        is_real = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
        return leaf.double() if is_real else leaf

    try:
        outputs = run(copy.deepcopy(model).double(), pytree.tree_map(widen, case.args))
    except Rejected:
        outputs = []
    pairs = list(zip(outputs, native, strict=False))
    good = len(outputs) == len(native) and all(
        o.shape == n.shape and o.dtype == (torch.float64 if n.is_floating_point() else n.dtype)
        for o, n in pairs
    )
    if good:
        return outputs, True
    return [n.double() if n.is_floating_point() else n for n in native], False


def _fits(derived: Derived, case: Case) -> bool:
    """Whether a case lies in the domain: same dtypes, ranks, fixed sizes, and equal symbols."""
    users = [s for s in derived.slots if s.kind == "user"]
    given = tensors(case.args)
    if len(users) != len(given):
        return False
    bound: dict[str, int] = {}
    for slot, tensor in zip(users, given, strict=True):
        known = derived.encoder.shape_of(slot.placeholder)
        if len(known["shape"]) != tensor.dim() or known["dtype"] != str(tensor.dtype)[6:]:
            return False
        for entry, size in zip(known["shape"], tensor.shape, strict=True):
            expected = bound.setdefault(entry, size) if isinstance(entry, str) else entry
            if expected != size:
                return False
    return True


def _entry(
    writer: Writer, case: Case, native: Sequence[torch.Tensor], wide: Sequence[torch.Tensor]
) -> dict[str, Any]:
    return {
        "case": case.index,
        "seed": case.seed,
        "users": [writer.tensor(t) for t in tensors(case.args)],
        "native": [writer.tensor(t) for t in native],
        "wide": [writer.tensor(t) for t in wide],
    }


def _signature(derived: Derived, leaves: list[Any]) -> dict[str, Any]:
    encoder = derived.encoder
    inputs = [
        {"name": s.name, "kind": s.kind, **encoder.shape_of(s.placeholder)} for s in derived.slots
    ]
    outputs = [
        {"name": f"out{index}", "kind": "output", **encoder.shape_of(name)}
        for index, name in enumerate(derived.outputs)
    ]
    return {"inputs": inputs, "scalars": leaves, "outputs": outputs}


def _symbols(derived: Derived, cases: Sequence[Case]) -> list[list[Any]]:
    """[symbol, input, dimension, minimum, maximum or None].

    Export reports a minimum of 2 wherever it has not looked at size 1; a case proves that 1 works.
    """
    ranges = {str(k): v for k, v in derived.program.range_constraints.items()}
    found = []
    for symbol, index, dim in derived.encoder.symbols:
        known = ranges.get(derived.encoder.original[symbol])
        low = _bound(known.lower) if known is not None else None
        high = _bound(known.upper) if known is not None else None
        least = min(tensors(case.args)[index].shape[dim] for case in cases)
        low = max(1, min(least, low or 2))
        found.append([symbol, index, dim, low, high])
    return found


def _bound(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None  # an infinite bound has no int
    return number if number < _UNBOUNDED else None


def _graph(derived: Derived) -> dict[str, Any]:
    encoder = derived.encoder
    inputs = [
        {
            "name": s.placeholder,
            "kind": s.kind,
            "index": index,
            "tensor": encoder.shape_of(s.placeholder),
        }
        for index, s in enumerate(derived.slots)
    ]
    return {
        "inputs": inputs,
        "nodes": encoder.nodes(),
        "outputs": list(derived.outputs),
        "symbols": encoder.symbols,
    }
