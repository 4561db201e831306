"""Why a sandboxed run was stopped, in words."""

from __future__ import annotations

from kernelvault.sandbox.contract import Limits, SandboxResult

_STOPPED = {
    "timeout": ("timeout", "did not finish within {wall_s:g} s"),
    "cpu_limit": ("timeout", "used more than {cpu_s} s of CPU time"),
    "memory_limit": ("memory_limit", "used more than {memory_bytes} bytes of memory"),
    "log_limit": ("output_flood", "printed more than {log_bytes} bytes"),
    "output_limit": ("output_flood", "wrote more than {out_bytes} bytes"),
}


def stopped_at(ran: SandboxResult, limits: Limits) -> tuple[str, str] | None:
    """(kind, what it did) of a run that ran into a limit, None for any other."""
    if ran.ended not in _STOPPED:
        return None
    kind, text = _STOPPED[ran.ended]
    return kind, text.format(**{name: getattr(limits, name) for name in Limits.__slots__})
