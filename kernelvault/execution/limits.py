"""Faults of runs that were stopped, in words."""

from __future__ import annotations

from kernelvault.execution.contract import Fault
from kernelvault.sandbox.contract import Limits, SandboxResult
from kernelvault.sandbox.endings import stopped_at


def stopped(ran: SandboxResult, limits: Limits) -> Fault | None:
    """The fault of a run that ran into a limit or died of a signal, None for any other."""
    if (told := stopped_at(ran, limits)) is not None:
        kind, text = told
        return Fault(kind, f"{text} of results" if ran.ended == "output_limit" else text)
    if ran.ended == "signalled":
        return Fault("crash", f"died of signal {ran.signal}")
    return None
