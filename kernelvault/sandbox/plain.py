"""A plain subprocess with resource limits: NOT a sandbox. Chosen by name only, never a fallback.

Every verification made with it carries its name: `subprocess`, or `disposable-host` on a
single-purpose machine that is thrown away afterwards. Arguments in or below `/in` and `/out` are
rewritten to temporary folders.
"""

from __future__ import annotations

import os

from kernelvault.sandbox import devices
from kernelvault.sandbox.contract import (
    Capabilities,
    Guarantee,
    Job,
    SandboxResult,
    WarmJob,
    WarmSandbox,
)
from kernelvault.sandbox.engine import Engine
from kernelvault.sandbox.link import ProcessLink
from kernelvault.sandbox.reaper import reap
from kernelvault.sandbox.session import Place, Session
from kernelvault.sandbox.setup import RUNNER, Setup, input_folder, runner_command, runner_python


class PlainSubprocess:
    """`Sandbox` contract without isolation."""

    def __init__(self, name: str = "subprocess") -> None:
        self.name = name
        reap()
        self._engine = Engine(_start, _no_data_limit)

    def capabilities(self) -> Capabilities:
        """Nothing is isolated; memory and processes are watched."""
        none = "a process of this user like any other"
        return Capabilities(
            (
                *(
                    Guarantee(limit, "absent", none)
                    for limit in ("files", "network", "processes of others", "privileges")
                ),
                Guarantee("system calls", "absent", "no filter"),
                Guarantee("memory", "soft", "looked at every 0.05 s"),
                Guarantee("process count", "soft", "RLIMIT_NPROC, which does not bind root"),
                Guarantee("CPU time", "enforced", "RLIMIT_CPU for each process"),
                Guarantee("wall time", "enforced", "timer of the runner and of the supervisor"),
                Guarantee("file size", "enforced", "RLIMIT_FSIZE for each file"),
                Guarantee("log and result size", "enforced", "counted by the supervisor"),
                Guarantee("environment", "enforced", "cleared"),
                Guarantee("end with the supervisor", "soft", "end of the runner's input"),
                Guarantee("devices", "enforced", "all of this machine"),
            )
        )

    def run(self, job: Job) -> SandboxResult:
        """Run a job as this user, with limits on time, memory, files and output."""
        return self._engine.run(job)

    def warm(self, job: WarmJob) -> WarmSandbox:
        """A process that stays, with no isolation between its tasks or from this machine."""
        return self._engine.warm(job)


def _no_data_limit(memory_bytes: int) -> int | None:
    return None


def _start(setup: Setup) -> Session:
    devices.find(setup.devices)  # raises when one is missing; what is there, the job sees anyway
    folder = input_folder()
    out, scratch = folder / ".out", folder / ".tmp"
    for path in (out, scratch):
        path.mkdir()
        path.chmod(0o1777)
    folders = (str(out), str(scratch))
    command = runner_command(
        setup, str(runner_python()), RUNNER, folders, alone=False, memory=setup.memory_bytes
    )
    env = {
        **dict(setup.env),
        "PATH": os.defpath,
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "KERNELVAULT_IN": str(folder),
        "KERNELVAULT_OUT": str(out),
    }
    return Session(ProcessLink(command, env), Place(folder, str(folder), str(out)), isolated=False)
