"""A plain subprocess with resource limits: NOT a sandbox. Chosen by name only, never a fallback.

Every verification made with it carries the name `subprocess`. Inputs are copied under a temporary
folder; arguments that begin with `/in/` or `/out/` are rewritten to it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kernelvault.sandbox.contract import (
    Capabilities,
    Job,
    SandboxResult,
    WarmJob,
    WarmSandbox,
)
from kernelvault.sandbox.memory import tree_memory
from kernelvault.sandbox.process import PREFIX, execute, input_folder, limit_command, wrapper
from kernelvault.sandbox.warm import Started, Warm, start, warm_command


class PlainSubprocess:
    """`Sandbox` contract without isolation."""

    name = "subprocess"

    def capabilities(self) -> Capabilities:
        """Nothing is isolated; memory is polled."""
        return Capabilities(False, False, False, True)

    def run(self, job: Job) -> SandboxResult:
        """Run a job as this user, with limits on time, memory, files and output."""
        with input_folder(job) as inputs, tempfile.TemporaryDirectory(prefix=PREFIX) as name:
            out = Path(name)
            for key, value in job.inputs.items():
                if isinstance(value, Path):
                    (inputs / key).unlink()
                    (inputs / key).symlink_to(value)
            moved = {"/in": str(inputs), "/out": str(out)}
            argv = [_rewrite(argument, moved) for argument in job.argv]
            shell = ["/bin/sh", "-c", wrapper(str(out)), "sh"]
            env = {
                "PATH": os.defpath,
                "HOME": str(out),
                "TMPDIR": str(out),
                "LC_ALL": "C.UTF-8",
                "OMP_NUM_THREADS": "1",
                "KERNELVAULT_IN": str(inputs),
                "KERNELVAULT_OUT": str(out),
                **job.env,
            }
            limit = job.limits.memory_bytes

            def watch(pid: int) -> str | None:
                return "memory_limit" if tree_memory(pid) > limit else None

            command = [*limit_command(job.limits), *shell, *argv]
            return execute(command, job.limits, env, watch, kill_group=True)

    def warm(self, job: WarmJob) -> WarmSandbox:
        """A process that stays, with no isolation between its tasks or from this machine."""
        return Warm(job, _start_warm)


def _start_warm(job: WarmJob, folder: Path) -> Started:
    out, scratch = folder / "out", folder / "tmp"
    for path in (out, scratch):
        path.mkdir()
        path.chmod(0o1777)
    env = {
        "PATH": os.defpath,
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        **job.env,
    }
    limit = job.limits.memory_bytes

    def watch(pid: int) -> str | None:
        return "memory_limit" if tree_memory(pid) > limit else None

    process = start([*warm_command(job), "0", "700000", str(out), str(scratch)], env)
    return Started(process, folder, folder, out, watch, None)


def _rewrite(argument: str, moved: dict[str, str]) -> str:
    for prefix, folder in moved.items():
        if argument == prefix or argument.startswith(prefix + "/"):
            return folder + argument.removeprefix(prefix)
    return argument
