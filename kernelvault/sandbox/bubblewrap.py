"""The bubblewrap backend: namespaces, a read-only `/usr`, sized tmpfs, no network, no secrets.

As root it needs no user namespace and gives every task a uid of its own; as an ordinary user it
runs in a user namespace. Either way a task has no capabilities and cannot gain any.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from kernelvault.errors import SandboxFault, SandboxUnavailable
from kernelvault.sandbox import cgroup, devices, seccomp
from kernelvault.sandbox.contract import (
    Capabilities,
    Guarantee,
    Job,
    Limits,
    Mount,
    SandboxResult,
    WarmJob,
    WarmSandbox,
)
from kernelvault.sandbox.engine import Engine
from kernelvault.sandbox.link import ProcessLink
from kernelvault.sandbox.reaper import reap
from kernelvault.sandbox.session import Place, Session
from kernelvault.sandbox.setup import (
    RUNNER_INSIDE,
    SHARED_MEMORY_BYTES,
    Setup,
    input_folder,
    runner_command,
    runner_mounts,
    runner_python,
)

INSTALL = "apt-get install bubblewrap, or make the container image and choose `--sandbox docker`"
# Present on most systems: where the loader finds libraries, and what `cc` and the like stand for.
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives")
# Of the runner, not of its tasks: to give each task a uid, to kill it and to remove its files.
_RUNNER_RIGHTS = ("SETUID", "SETGID", "SETPCAP", "KILL", "DAC_OVERRIDE")
_FOLDERS = ("/out", "/tmp", "/dev/shm")
# In a control group stand, beside a task, the runner, its fork that packs, and two of bwrap.
_OWN_PROCESSES = 4
_FIRST_UID = 600_000
_UIDS_EACH = 1000
_runs = itertools.count()


class Bubblewrap:
    """`Sandbox` on bwrap. Raises SandboxUnavailable when bwrap is missing or cannot work here."""

    name = "bubblewrap"

    def __init__(self) -> None:
        program = shutil.which("bwrap")
        if program is None:
            raise SandboxUnavailable("bubblewrap (bwrap) is not installed", INSTALL)
        self._bwrap = program
        reap()
        self._root = os.geteuid() == 0
        self._cgroup = cgroup.version()
        self._engine = Engine(self._start, self._data_bytes)
        try:
            probe = self.run(Job(("true",), limits=Limits(wall_s=10)))
        except SandboxFault as fault:
            reason = f"bubblewrap does not work on this machine: {fault.cause}"
            raise SandboxUnavailable(reason, INSTALL) from fault
        if not probe.ok:
            text = probe.log.decode(errors="replace").strip()[:300]
            raise SandboxUnavailable(f"bubblewrap does not work on this machine: {text}", INSTALL)

    def capabilities(self) -> Capabilities:
        """What is enforced here; memory is polled where no control group can be made."""
        group = f"control group, version {self._cgroup}"
        memory = (
            Guarantee("memory", "enforced", group)
            if self._cgroup
            else Guarantee(
                "memory", "soft", "looked at every 0.05 s, and RLIMIT_DATA for each process"
            )
        )
        user = "a uid of its own" if self._root else "a user namespace"
        found = devices.present()
        return Capabilities(
            (
                Guarantee("files", "enforced", "mount namespace; /usr and inputs read-only"),
                Guarantee("network", "enforced", "empty network namespace"),
                Guarantee("processes of others", "enforced", "pid namespace"),
                Guarantee("privileges", "enforced", f"{user}, no capabilities, no-new-privileges"),
                Guarantee("system calls", "enforced", "seccomp filter"),
                memory,
                Guarantee("process count", "enforced", group if self._cgroup else "RLIMIT_NPROC"),
                Guarantee("CPU time", "enforced", "RLIMIT_CPU for each process"),
                Guarantee("wall time", "enforced", "timer of the runner and of the supervisor"),
                Guarantee("file size", "enforced", "RLIMIT_FSIZE and sized tmpfs"),
                Guarantee("log and result size", "enforced", "counted by the supervisor"),
                Guarantee("environment", "enforced", "cleared"),
                Guarantee("end with the supervisor", "enforced", "end of the runner's input"),
                Guarantee("devices", "enforced" if found else "absent", ", ".join(found) or "none"),
            )
        )

    def run(self, job: Job) -> SandboxResult:
        """Run a job; raises SandboxFault when bwrap itself fails to start."""
        return self._engine.run(job)

    def warm(self, job: WarmJob) -> WarmSandbox:
        """A sandbox that stays. As root its tasks get uids of their own."""
        return self._engine.warm(job)

    def _data_bytes(self, memory_bytes: int) -> int | None:
        return None if self._cgroup else memory_bytes

    def _start(self, setup: Setup) -> Session:
        with ExitStack() as undo:
            folder = input_folder()
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            nodes = devices.find(setup.devices)
            group: cgroup.Cgroup | None = None
            if self._cgroup:
                processes = setup.processes + _OWN_PROCESSES
                group = cgroup.make(self._cgroup, setup.memory_bytes, processes)
                undo.callback(group.close)
            # Different sandboxes use different uids, since process limits count by uid.
            uids = _FIRST_UID + (os.getpid() * 61 + next(_runs)) % 4000 * _UIDS_EACH
            command = runner_command(
                setup,
                str(runner_python()),
                RUNNER_INSIDE,
                _FOLDERS,
                alone=True,
                uids=uids if self._root else None,
                groups=nodes.groups,
                memory=None if group else setup.memory_bytes,
            )
            with tempfile.TemporaryFile() as options, tempfile.TemporaryFile() as program:
                # Options go through a file, so that host paths stay out of /proc/1/cmdline.
                words = self._options(setup, folder, nodes, program.fileno())
                options.write(b"".join(os.fsencode(word) + b"\0" for word in words))
                program.write(seccomp.program(setup.profile))
                for file in (options, program):
                    file.seek(0)
                command = [self._bwrap, "--args", str(options.fileno()), "--", *command]
                if group is not None:
                    command = ["/bin/sh", "-c", group.join_script() + 'exec "$@"', "sh", *command]
                # Nothing of the caller's environment: it may hold keys.
                link = ProcessLink(command, {}, (options.fileno(), program.fileno()))
            undo.pop_all()
        if group is None:
            return Session(link, Place(folder))
        return Session(link, Place(folder), oom_kills=group.oom_kills, released=group.close)

    def _options(
        self, setup: Setup, folder: Path, nodes: devices.Nodes, program: int
    ) -> Sequence[str]:
        options = [
            *("--unshare-pid", "--as-pid-1", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
            *("--unshare-cgroup-try", "--new-session", "--hostname", "sandbox"),
            *("--seccomp", str(program), "--cap-drop", "ALL", "--clearenv"),
        ]
        if self._root:
            for right in _RUNNER_RIGHTS:
                options += ["--cap-add", f"CAP_{right}"]
        else:
            options += ["--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"]
        for key, value in setup.env:
            options += ["--setenv", key, value]
        options += ["--ro-bind", "/usr", "/usr"]
        for name in ("bin", "sbin", "lib", "lib64"):
            options += ["--symlink", f"usr/{name}", f"/{name}"]
        options += ["--proc", "/proc", "--dev", "/dev"]
        for path, size in (
            ("/dev/shm", min(setup.tmp_bytes, SHARED_MEMORY_BYTES)),
            ("/tmp", setup.tmp_bytes),
            ("/out", setup.out_bytes),
        ):
            options += ["--perms", "1777", "--size", str(size), "--tmpfs", path]
        options += ["--ro-bind", str(folder), "/in"]
        options += ["--perms", "0755", "--dir", "/etc"]
        for name in _SYSTEM_FILES:
            options += ["--ro-bind-try", name, name]
        options += _mount_options([*runner_mounts(), *setup.mounts])
        for node in nodes.paths:
            options += ["--dev-bind", str(node), str(node)]
        if nodes.paths:
            options += ["--ro-bind", "/sys", "/sys"]
        return [*options, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]


def _mount_options(mounts: Sequence[Mount]) -> list[str]:
    """Read-only binds. Missing parents are made 0755 first: bwrap would make them 0700, which a
    dropped uid cannot pass."""
    options: list[str] = []
    made = {Path(p) for p in ("/", "/usr", "/etc", "/tmp", "/dev", "/proc", "/out", "/in")}
    for mount in mounts:
        target = mount.target or mount.source
        for parent in reversed(target.parents):
            if parent not in made and not parent.is_relative_to("/usr"):
                options += ["--perms", "0755", "--dir", str(parent)]
                made.add(parent)
        options += ["--ro-bind", str(mount.source), str(target)]
        made.add(target)
    return options
