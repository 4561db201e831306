"""What a sandbox is made with, and what its runner is told: the part that all backends share."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernelvault.errors import SandboxFault
from kernelvault.sandbox.contract import Device, Job, Limits, Mount, Profile, WarmJob
from kernelvault.sandbox.owner import identity
from kernelvault.sandbox.session import Session

PREFIX = "kernelvault-sandbox-"
RUNNER = Path(__file__).parent / "inside"
RUNNER_INSIDE = Path("/opt/kernelvault/runner")
ENV = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LC_ALL": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
SHARED_MEMORY_BYTES = 16 << 20
_OLDEST_MINOR = 9


@dataclass(frozen=True, slots=True)
class Setup:
    """All that must be known when a sandbox is made. Equal setups make interchangeable ones."""

    mounts: tuple[Mount, ...]
    env: tuple[tuple[str, str], ...]
    tmp_bytes: int
    out_bytes: int
    memory_bytes: int
    processes: int
    profile: Profile
    devices: tuple[Device, ...]
    python: Path | None = None
    preload: str | None = None

    @classmethod
    def of(cls, job: Job | WarmJob) -> Setup:
        limits = job.limits
        return cls(
            mounts=job.mounts,
            env=tuple(sorted({**ENV, **job.env}.items())),
            # To the kernel, a folder of size zero is one without a limit.
            tmp_bytes=max(limits.tmp_bytes, 1),
            out_bytes=max(limits.out_bytes, 1),
            memory_bytes=limits.memory_bytes,
            processes=limits.processes,
            profile="default" if isinstance(job, WarmJob) else job.profile,
            devices=job.devices,
            python=job.python if isinstance(job, WarmJob) else None,
            preload=job.preload if isinstance(job, WarmJob) else None,
        )

    def age(self) -> tuple[tuple[int, int, int], ...]:
        """What changes when a mounted file or folder is replaced.

        Raises SandboxFault, naming it, when one is missing.
        """
        try:
            found = [mount.source.stat() for mount in self.mounts]
        except OSError as error:
            raise SandboxFault(f"the sandbox cannot show a file or folder: {error}") from error
        return tuple((s.st_dev, s.st_ino, s.st_mtime_ns) for s in found)


Start = Callable[[Setup], Session]


@cache
def runner_python() -> Path:
    """The interpreter that runs the runner: the system's, which every sandbox has below `/usr`.

    Where there is none of a usable version, ours outside of any virtual environment.
    """
    system = Path("/usr/bin/python3")
    found = re.fullmatch(r"python3\.(\d+)", system.resolve().name)
    if system.exists() and found and int(found[1]) >= _OLDEST_MINOR:
        return system
    major, minor = sys.version_info[:2]
    return Path(sys.base_prefix) / "bin" / f"python{major}.{minor}"


def runner_mounts() -> tuple[Mount, ...]:
    """What a runner needs on top of a read-only `/usr`."""
    outside = not runner_python().is_relative_to("/usr")
    return (Mount(RUNNER, RUNNER_INSIDE), *((Mount(Path(sys.base_prefix)),) if outside else ()))


def runner_command(
    setup: Setup,
    python: str,
    runner: Path,
    folders: tuple[str, ...],
    *,
    alone: bool,
    uids: int | None = None,
    groups: tuple[int, ...] = (),
    memory: int | None = None,
    oom: str | None = None,
) -> list[str]:
    """The command of the first process inside; `inside/__main__.py` says what its options mean."""
    config = {
        "preload": setup.preload,
        "alone": alone,
        "uids": uids,
        "groups": groups,
        "folders": folders,
        "memory": memory,
        "oom": oom,
    }
    # A preloaded module needs its packages, by PYTHONPATH or those of its interpreter.
    flags = ("-P", "-s") if setup.preload else ("-I", "-S", "-B")
    return [str(setup.python or python), *flags, str(runner), json.dumps(config)]


def rlimits(limits: Limits, data_bytes: int | None, count_by_uid: bool = True) -> dict[str, int]:
    """Kernel limits of each process of a task; `data_bytes` where no cgroup limits memory.

    `count_by_uid` where no cgroup counts processes, or where each sandbox has uids of its own.
    """
    values = {
        "RLIMIT_CPU": limits.cpu_s,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_FSIZE": max(limits.out_bytes, limits.tmp_bytes),
        "RLIMIT_CORE": 0,
    }
    if count_by_uid:
        values["RLIMIT_NPROC"] = limits.processes
    return values if data_bytes is None else {**values, "RLIMIT_DATA": data_bytes}


def input_folder() -> Path:
    """A new folder that any uid may read; its name says whose it is, for `reap`."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{identity()}-"))
    folder.chmod(0o755)
    return folder


def order_of(job: Job, data_bytes: int | None, count_by_uid: bool = True) -> Mapping[str, Any]:
    """What the runner is told of a job."""
    limited = data_bytes if job.profile == "default" else None
    limits = rlimits(job.limits, limited, count_by_uid)
    return {"argv": job.argv, "last": True, "rlimits": limits}
