"""Sandboxes for untrusted code. `open_sandbox(name)` is the only way in."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kernelvault.errors import ConfigError, SandboxUnavailable
from kernelvault.sandbox.bubblewrap import Bubblewrap
from kernelvault.sandbox.contract import (
    LIMITS,
    Capabilities,
    Guarantee,
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
    "LIMITS",
    "UNISOLATED",
    "Capabilities",
    "Guarantee",
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

_log = logging.getLogger(__name__)


def _docker() -> Sandbox:
    # Imported late: most runs need no client of a daemon.
    from kernelvault.sandbox.docker_engine import Docker

    return Docker()


def _auto() -> Sandbox:
    """Bubblewrap, or docker where bubblewrap does not work and our image is present."""
    try:
        return Bubblewrap()
    except SandboxUnavailable as unavailable:
        from kernelvault.sandbox.docker_engine import image_present

        if not image_present():
            raise
        _log.warning("docker instead of bubblewrap: %s", unavailable.cause)
        return _docker()


BACKENDS: dict[str, Callable[[], Sandbox]] = {
    "auto": _auto,
    "bubblewrap": Bubblewrap,
    "docker": _docker,
    "subprocess": PlainSubprocess,
    "disposable-host": lambda: PlainSubprocess("disposable-host"),
}
# What gives no isolation: chosen by name alone, and never for a release but a preview.
UNISOLATED = frozenset({"subprocess", "disposable-host"})


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
