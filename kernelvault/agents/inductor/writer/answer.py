"""All variants of one problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelvault.agents.inductor.variants import Variant, variant_of
from kernelvault.agents.inductor.writer.errors import UnsupportedError, first_line
from kernelvault.agents.inductor.writer.lower import lower
from kernelvault.agents.inductor.writer.module import Naming, write
from kernelvault.agents.inductor.writer.rebuild import Traced, trace


def answer(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One `{"source"}` or `{"reason"}` for each of the task's variants."""
    variants = [variant_of(known) for known in task["variants"]]
    try:
        traced = trace(task["graph"], task["domain"])
    except UnsupportedError as error:
        return [{"reason": str(error)} for _ in variants]
    except Exception as error:  # noqa: BLE001  (operators raise of all kinds on sizes they refuse)
        reason = f"tracing the graph: {type(error).__name__}: {first_line(error)}"
        return [{"reason": reason} for _ in variants]
    naming = Naming(task["title"], tuple(task["inputs"]), traced.symbols)
    return [_one(traced, naming, variant) for variant in variants]


def _one(traced: Traced, naming: Naming, variant: Variant) -> dict[str, Any]:
    try:
        return {"source": write(lower(traced, variant), naming, variant)}
    except UnsupportedError as error:
        return {"reason": str(error)}
