"""Sandboxes for untrusted code. `open_sandbox(name)` is the only way in."""

from __future__ import annotations

from collections.abc import Callable

from kernelvault.errors import ConfigError
from kernelvault.sandbox.bubblewrap import Bubblewrap
from kernelvault.sandbox.contract import (
    Capabilities,
    Job,
    Limits,
    Mount,
    Sandbox,
    SandboxResult,
    Task,
    WarmJob,
    WarmSandbox,
)
from kernelvault.sandbox.plain import PlainSubprocess

__all__ = [
    "BACKENDS",
    "Capabilities",
    "Job",
    "Limits",
    "Mount",
    "Sandbox",
    "SandboxResult",
    "Task",
    "WarmJob",
    "WarmSandbox",
    "open_sandbox",
]

BACKENDS: dict[str, Callable[[], Sandbox]] = {
    "bubblewrap": Bubblewrap,
    "subprocess": PlainSubprocess,
}


def open_sandbox(name: str) -> Sandbox:
    """The backend called `name`, proved to work by one trivial run.

    Raises ConfigError for an unknown name, SandboxUnavailable when the machine cannot run it.
    There is no automatic fallback from an isolating backend to one that is not.
    """
    try:
        backend = BACKENDS[name]
    except KeyError:
        known = ", ".join(BACKENDS)
        raise ConfigError(f"no sandbox {name!r}", f"choose from {known}") from None
    return backend()
