"""Faults of runs that were stopped, in words."""

from __future__ import annotations

from kernelvault.execution.contract import Fault
from kernelvault.sandbox.contract import Limits, SandboxResult

_STOPPED = {
    "timeout": ("timeout", "did not finish within {wall_s:g} s"),
    "cpu_limit": ("timeout", "used more than {cpu_s} s of CPU time"),
    "memory_limit": ("memory_limit", "used more than {memory_bytes} bytes of memory"),
    "log_limit": ("output_flood", "printed more than {log_bytes} bytes"),
    "output_limit": ("output_flood", "wrote more than {out_bytes} bytes of results"),
}


def stopped(ran: SandboxResult, limits: Limits) -> Fault | None:
    """The fault of a run that ran into a limit or died of a signal, None for any other."""
    if ran.ended in _STOPPED:
        kind, text = _STOPPED[ran.ended]
        return Fault(
            kind, text.format(**{name: getattr(limits, name) for name in Limits.__slots__})
        )
    if ran.ended == "signalled":
        return Fault("crash", f"died of signal {ran.signal}")
    return None
