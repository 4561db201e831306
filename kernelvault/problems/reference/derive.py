"""From a model and example arguments to the functional form, as plain JSON.

The exported program is proved by running its graph on every workload; see `functional`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from kernelvault.problems.reference.encode import Encoder
from kernelvault.problems.reference.reject import Rejected, describe

_KINDS = {
    InputKind.USER_INPUT: "user",
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant",
}
_ORDER = ("user", "parameter", "buffer", "constant")


@dataclass(frozen=True)
class Slot:
    """One tensor input: placeholder, readable name, kind, fixed value (None for the user's)."""

    placeholder: str
    name: str
    kind: str
    value: torch.Tensor | None


@dataclass(frozen=True)
class Derived:
    """The functional form: input slots in signature order, encoded graph, names of outputs."""

    program: ExportedProgram
    slots: tuple[Slot, ...]
    outputs: tuple[str, ...]
    encoder: Encoder


def derive(model: torch.nn.Module, args: Sequence[Any], dynamic: bool) -> Derived:
    """Export and decompose to core ATen; rejects what cannot be expressed so."""
    try:
        program = torch.export.export(
            model, tuple(args), dynamic_shapes=_auto(args) if dynamic else None, strict=False
        )
        program = program.run_decompositions()
    except Rejected:
        raise
    except Exception as error:  # export runs the file's code and raises of all kinds
        step = "avoid control flow that depends on values; see torch.export"
        raise Rejected("unexportable", f"torch.export: {describe(error)}", step) from error
    slots = _slots(program)
    outputs = _outputs(program)
    encoder = Encoder(program.graph_module, [slot.placeholder for slot in slots], outputs)
    return Derived(program, slots, outputs, encoder)


def _auto(args: Sequence[Any]) -> Any:
    def spec(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dim():
            return dict.fromkeys(range(leaf.dim()), Dim.AUTO)
        return None

    # `*args` wraps nothing here: export wants one entry per positional argument.
    return pytree.tree_map(spec, tuple(args))


def _slots(program: ExportedProgram) -> tuple[Slot, ...]:
    found = []
    for entry in program.graph_signature.input_specs:
        placeholder = getattr(entry.arg, "name", "")
        if entry.kind not in _KINDS:
            step = "keep tokens and custom objects out of the model"
            raise Rejected("unexportable", f"an input of kind {entry.kind.name}", step)
        kind = _KINDS[entry.kind]
        if kind == "user":
            if type(entry.arg).__name__ == "TensorArgument":
                found.append(Slot(placeholder, placeholder, kind, None))
            continue
        assert entry.target is not None
        value = program.state_dict.get(entry.target)
        value = program.constants.get(entry.target) if value is None else value
        assert isinstance(value, torch.Tensor)
        found.append(Slot(placeholder, entry.target, kind, value.detach().clone()))
    return tuple(sorted(found, key=lambda slot: _ORDER.index(slot.kind)))


def _outputs(program: ExportedProgram) -> tuple[str, ...]:
    names = []
    for entry in program.graph_signature.output_specs:
        if entry.kind == OutputKind.USER_INPUT_MUTATION:
            step = "clone the argument before writing to it"
            raise Rejected("input_mutation", "forward writes to its arguments", step)
        if entry.kind == OutputKind.USER_OUTPUT:
            if type(entry.arg).__name__ != "TensorArgument":
                step = "return tensors only"
                raise Rejected("not_tensors", "forward returns a value that is no tensor", step)
            names.append(entry.arg.name)
    return tuple(names)


def functional(derived: Derived, users: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Run the exported graph on a workload's user inputs, guards left aside."""
    given = iter(users)
    values = {
        slot.placeholder: next(given) if slot.value is None else slot.value.clone()
        for slot in derived.slots
    }
    graph = derived.program.graph_module
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    ordered = [values.get(node.name, node.meta.get("val")) for node in placeholders]
    with torch.no_grad():
        everything = torch.fx.Interpreter(graph).run(*ordered)
    kept = [
        value
        for value, entry in zip(
            everything, derived.program.graph_signature.output_specs, strict=True
        )
        if entry.kind == OutputKind.USER_OUTPUT
    ]
    return [value.detach().contiguous() for value in kept]
