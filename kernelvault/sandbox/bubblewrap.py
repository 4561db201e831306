"""The bubblewrap backend: namespaces, a read-only `/usr`, sized tmpfs, no network, no secrets.

As root it needs no user namespace and drops to a throw-away uid inside; as an ordinary user it runs
in a user namespace. Either way the payload has no capabilities and cannot gain any.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from kernelvault.errors import SandboxFault, SandboxUnavailable
from kernelvault.sandbox.contract import (
    Capabilities,
    Job,
    Limits,
    Mount,
    SandboxResult,
    WarmJob,
    WarmSandbox,
)
from kernelvault.sandbox.memory import Cgroup, tree_memory
from kernelvault.sandbox.process import (
    NO_ARCHIVE,
    PREFIX,
    execute,
    input_folder,
    limit_command,
    wrapper,
)
from kernelvault.sandbox.warm import ZYGOTE, Started, Warm, start, warm_command

_INSTALL = "apt-get install bubblewrap, or choose `--sandbox subprocess` (no isolation, labelled)"
_ENV = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LC_ALL": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_SYSTEM_MOUNTS = tuple(Mount(Path(p)) for p in ("/etc/ld.so.cache", "/etc/alternatives"))
# To give each task a uid of its own, and to kill and remove what it left behind.
_WARM_RIGHTS = ("SETUID", "SETGID", "SETPCAP", "KILL", "DAC_OVERRIDE")
_STALE_S = 24 * 3600
_runs = itertools.count()


class Bubblewrap:
    """`Sandbox` on bwrap. Raises SandboxUnavailable when bwrap is missing or cannot work here."""

    name = "bubblewrap"

    def __init__(self) -> None:
        if shutil.which("bwrap") is None:
            raise SandboxUnavailable("bubblewrap (bwrap) is not installed", _INSTALL)
        self._root = os.geteuid() == 0
        _reap_leftovers()
        probe = self.run(Job(("true",), limits=Limits(wall_s=10)))
        if not probe.ok:
            text = probe.log.decode(errors="replace").strip()[:300]
            raise SandboxUnavailable(f"bubblewrap does not work on this machine: {text}", _INSTALL)

    def capabilities(self) -> Capabilities:
        """What is enforced; the memory limit is polled where no cgroup can be made."""
        return Capabilities(
            isolated=True,
            network_off=True,
            hard_memory_limit=Cgroup.possible(),
            device_passthrough=False,
        )

    def run(self, job: Job) -> SandboxResult:
        """Run a job; raises SandboxFault when bwrap itself fails to start."""
        with ExitStack() as stack:
            folder = stack.enter_context(input_folder(job))
            group = Cgroup(job.limits) if Cgroup.possible() else None
            if group is not None:
                stack.callback(group.close)
            # Options go through a file, so that host paths stay out of /proc/1/cmdline.
            options = stack.enter_context(tempfile.TemporaryFile())
            options.write(b"".join(os.fsencode(o) + b"\0" for o in self._options(job, folder)))
            options.seek(0)
            command = ["bwrap", "--args", str(options.fileno()), "--", *self._payload(job)]
            if group is not None and group.active:
                command = ["/bin/sh", "-c", group.join_script() + 'exec "$@"', "sh", *command]
                watch: Callable[[int], str | None] = _never
            else:
                watch = _memory_watch(job.limits)
            result = execute(command, job.limits, {"PATH": os.defpath}, watch, [options.fileno()])
            if group is not None and group.out_of_memory():
                return _out_of_memory(result)
            # A payload that prints the same leaves an archive; bwrap that failed before it, none.
            failed = result.exit_code == 1 and NO_ARCHIVE in result.notes
            if failed and result.log.startswith(b"bwrap: "):
                text = result.log.decode(errors="replace").splitlines()[0]
                raise SandboxFault(f"the sandbox did not start: {text}", "run `kernelvault doctor`")
            return result

    def warm(self, job: WarmJob) -> WarmSandbox:
        """A sandbox that stays. As root its tasks get uids of their own."""
        return Warm(job, self._start_warm)

    def _start_warm(self, job: WarmJob, folder: Path) -> Started:
        # Different sandboxes use different uids, since process limits count by uid.
        first_uid = 600_000 + (os.getpid() * 61 + next(_runs)) % 4000 * 1000
        argv = (*warm_command(job), "1", str(first_uid), "/out", "/tmp", "/dev/shm")
        mounts = (*job.mounts, Mount(ZYGOTE))
        inside = Job(argv, {}, mounts, job.env, job.limits)
        group = Cgroup(job.limits) if Cgroup.possible() else None
        words = self._options(inside, folder, _WARM_RIGHTS)
        with tempfile.TemporaryFile() as options:
            options.write(b"".join(os.fsencode(o) + b"\0" for o in words))
            options.seek(0)
            command = ["bwrap", "--args", str(options.fileno()), "--", *argv]
            watch = _memory_watch(job.limits)
            if group is not None and group.active:
                command = ["/bin/sh", "-c", group.join_script() + 'exec "$@"', "sh", *command]
                watch = _never
            process = start(command, {"PATH": os.defpath}, (options.fileno(),))
        return Started(process, folder, Path("/in"), Path("/out"), watch, group)

    def _options(
        self, job: Job, folder: Path, rights: Sequence[str] = ("SETUID", "SETGID", "SETPCAP")
    ) -> list[str]:
        limits = job.limits
        options = [
            *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
            *("--unshare-cgroup-try", "--die-with-parent", "--new-session"),
            *("--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv"),
        ]
        if self._root:
            for right in rights:
                options += ["--cap-add", f"CAP_{right}"]
        else:
            options += ["--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"]
        for key, value in {**_ENV, **job.env}.items():
            options += ["--setenv", key, value]
        options += ["--ro-bind", "/usr", "/usr"]
        for name in ("bin", "sbin", "lib", "lib64"):
            options += ["--symlink", f"usr/{name}", f"/{name}"]
        options += ["--proc", "/proc", "--dev", "/dev"]
        for path, size in (
            ("/dev/shm", min(limits.tmp_bytes, 16 << 20)),
            ("/tmp", limits.tmp_bytes),
            ("/out", limits.out_bytes),
        ):
            options += ["--perms", "1777", "--size", str(size), "--tmpfs", path]
        options += ["--ro-bind", str(folder), "/in"]
        inputs = [
            Mount(value, Path("/in") / key)
            for key, value in job.inputs.items()
            if isinstance(value, Path)
        ]
        options += _mount_options([*_SYSTEM_MOUNTS, *job.mounts, *inputs])
        return [*options, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]

    def _payload(self, job: Job) -> list[str]:
        drop: list[str] = []
        if self._root:
            # A uid of its own, so that runs at the same time do not share a process limit.
            uid = 200000 + (os.getpid() * 61 + next(_runs)) % 400000
            drop = [
                *("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"),
                *("--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"),
            ]
        shell = ["/bin/sh", "-c", wrapper("/out"), "sh"]
        return [*drop, *limit_command(job.limits), *shell, *job.argv]


def _mount_options(mounts: Sequence[Mount]) -> list[str]:
    """Read-only binds. Missing parents are made 0755 first: bwrap would make them 0700, which a
    dropped uid cannot pass."""
    options: list[str] = []
    made = {Path(p) for p in ("/", "/usr", "/tmp", "/dev", "/proc", "/out", "/in")}
    for mount in mounts:
        target = mount.target or mount.source
        for parent in reversed(target.parents):
            if parent not in made and not parent.is_relative_to("/usr"):
                options += ["--perms", "0755", "--dir", str(parent)]
                made.add(parent)
        options += ["--ro-bind", str(mount.source), str(target)]
        made.add(target)
    return options


def _never(pid: int) -> str | None:
    return None


def _memory_watch(limits: Limits) -> Callable[[int], str | None]:
    def watch(pid: int) -> str | None:
        return "memory_limit" if tree_memory(pid) > limits.memory_bytes else None

    return watch


def _out_of_memory(result: SandboxResult) -> SandboxResult:
    return SandboxResult(
        "memory_limit", None, None, result.log, {}, result.wall_s, result.cpu_s, result.notes
    )


def _reap_leftovers() -> None:
    """Remove input folders of supervisors that were killed more than a day ago."""
    now = time.time()
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        try:
            if now - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # another process was faster
