"""The sandbox contract: run one command on read-only inputs, get a log and files back.

Inside, inputs lie in `/in` (read-only), the command may write `/out` and `/tmp` only (both sized),
stdout and stderr are one log. Nothing in a result is ever unpickled or followed as a link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

MiB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes a run may use."""

    wall_s: float = 20.0
    cpu_s: int = 20
    memory_bytes: int = 2048 * MiB
    tmp_bytes: int = 256 * MiB
    out_bytes: int = 256 * MiB
    log_bytes: int = 1 * MiB
    processes: int = 64
    open_files: int = 256


@dataclass(frozen=True, slots=True)
class Mount:
    """A host path shown read-only at `target` inside (default: at its own path)."""

    source: Path
    target: Path | None = None


# `sanitizer` is for programs that reserve terabytes of address space for shadow memory and turn
# address randomisation off for themselves: no limit on a process's own memory, only on the whole.
Profile = Literal["default", "sanitizer"]
# Whose GPUs a run may use.
Device = Literal["amd", "nvidia"]


@dataclass(frozen=True, slots=True)
class Job:
    """What to run. `inputs` maps plain file names in `/in` to bytes or to host files."""

    argv: tuple[str, ...]
    inputs: Mapping[str, bytes | Path] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    profile: Profile = "default"
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True)
class WarmJob:
    """A Python process that imports `preload` once and is then forked for each task.

    `limits` hold for every task: `memory_bytes` for the process and its task together.
    """

    python: Path
    preload: str
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One call in a warm sandbox: `entry` is `module:function`, given `args` (JSON values).

    `{in}` and `{out}` in string arguments stand for the folder of `inputs` and the one to write.
    """

    entry: str
    args: tuple[str | int | float, ...] = ()
    inputs: Mapping[str, bytes] = field(default_factory=dict)


# How a run ended; everything but `exited` and `signalled` means we stopped it.
ENDINGS = (
    "exited",
    "signalled",
    "timeout",
    "cpu_limit",
    "memory_limit",
    "log_limit",
    "output_limit",
)


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """`exit_code` is set when `ended` is `exited`, `signal` when it is `signalled`.

    `wall_s` is the caller's wait; `cpu_s` counts every process the run started.
    """

    ended: str
    exit_code: int | None
    signal: int | None
    log: bytes
    files: Mapping[str, bytes]
    wall_s: float
    cpu_s: float
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.ended == "exited" and self.exit_code == 0


# `enforced` by the kernel; `soft`: watched, and stopped soon after; `absent`: not limited.
Level = Literal["enforced", "soft", "absent"]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """How well one limit holds on this machine, and by what means."""

    limit: str
    level: Level
    how: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend enforces on this machine: a guarantee for each of `LIMITS`."""

    guarantees: tuple[Guarantee, ...]

    def level(self, limit: str) -> Level:
        """The level of one limit, `absent` when nothing is said of it."""
        return next((g.level for g in self.guarantees if g.limit == limit), "absent")

    @property
    def isolated(self) -> bool:
        return self.level("files") == "enforced"

    @property
    def network_off(self) -> bool:
        return self.level("network") == "enforced"

    @property
    def hard_memory_limit(self) -> bool:
        return self.level("memory") == "enforced"

    @property
    def device_passthrough(self) -> bool:
        return self.level("devices") == "enforced"


# In the order in which `doctor --sandbox` prints them.
LIMITS = (
    "files",
    "network",
    "processes of others",
    "privileges",
    "system calls",
    "memory",
    "process count",
    "CPU time",
    "wall time",
    "file size",
    "log and result size",
    "environment",
    "end with the supervisor",
    "devices",
)


class Sandbox(Protocol):
    """A backend. `run` raises SandboxFault when the sandbox, not the payload, fails."""

    name: str

    def capabilities(self) -> Capabilities: ...

    def run(self, job: Job) -> SandboxResult: ...

    def warm(self, job: WarmJob) -> WarmSandbox: ...


class WarmSandbox(Protocol):
    """A sandbox that stays: each task runs in a fork of a process that has its imports done.

    Tasks run one after another. A task cannot see or touch the process it was forked from, and
    nothing it started or wrote is left when the next one begins.
    """

    def run(self, task: Task) -> SandboxResult:
        """Run one task. Raises SandboxFault when the sandbox, not the task, fails."""
        ...

    def close(self) -> None: ...
