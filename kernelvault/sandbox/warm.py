"""The caller's side of a warm sandbox: starts it, hands it tasks, replaces it when one broke it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelvault.errors import SandboxFault
from kernelvault.sandbox import zygote
from kernelvault.sandbox.archive import read_archive
from kernelvault.sandbox.contract import Limits, SandboxResult, Task, WarmJob
from kernelvault.sandbox.memory import Cgroup
from kernelvault.sandbox.process import PREFIX, write_inputs

ZYGOTE = Path(zygote.__file__)
_START_S = 120.0
_ANSWER_GRACE_S = 5.0
_POLL_S = 0.25
_MAX_HEADER = 4096
_TAR_OVERHEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class Started:
    """A running warm sandbox: where its inputs are written, seen from outside and from inside."""

    process: subprocess.Popen[bytes]
    folder: Path
    inside: Path
    out: Path
    watch: Callable[[int], str | None]
    group: Cgroup | None
    noise: bytearray = field(default_factory=bytearray)


class _Broken(Exception):
    """The process behind a warm sandbox ended or was stopped; `ended` names the limit, if any."""

    def __init__(self, ended: str | None) -> None:
        super().__init__(ended)
        self.ended = ended


def warm_command(job: WarmJob) -> list[str]:
    """The command of the process inside, without its last arguments."""
    return [str(job.python), "-P", "-s", str(ZYGOTE), job.preload]


def start(
    command: Sequence[str], env: Mapping[str, str], pass_fds: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    """Start a warm process with pipes; raises SandboxFault when it cannot be started."""
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=pass_fds,
            env=dict(env),
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxFault(f"{command[0]} cannot be started: {error}") from error


class Warm:
    """`WarmSandbox` over a way to start one; started on the first task, and again when broken."""

    def __init__(self, job: WarmJob, launch: Callable[[WarmJob, Path], Started]) -> None:
        self._job = job
        self._launch = launch
        self._live: Started | None = None
        self._numbers = itertools.count()
        self._owner = 0

    def run(self, task: Task) -> SandboxResult:
        """Run one task; a task that breaks the sandbox itself has crashed."""
        live = self._started()
        began = time.monotonic()
        name = f"task-{next(self._numbers)}"
        folder = live.folder / name
        folder.mkdir(mode=0o755)
        try:
            write_inputs(folder, task.inputs)
            line = self._line(task, live.inside / name, live.out)
            header, log, archive = self._exchange(live, line)
        except _Broken as broken:
            wall_s = time.monotonic() - began
            ended = broken.ended or _group_ending(live)
            self.close()
            number = None if ended else int(signal.SIGKILL)
            return SandboxResult(ended or "signalled", None, number, b"", {}, wall_s, 0.0)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        result = self._result(header, log, archive, time.monotonic() - began)
        if result.ended == "signalled" and _group_ending(live):
            self.close()
            return SandboxResult("memory_limit", None, None, log, {}, result.wall_s, result.cpu_s)
        return result

    def close(self) -> None:
        """End the process and everything in its sandbox."""
        live, self._live = self._live, None
        if live is not None:
            _end_own(live, self._owner)

    def _started(self) -> Started:
        # A forked copy of this object must not talk to its parent's sandbox.
        if self._live is not None and self._owner == os.getpid():
            if self._live.process.poll() is None:
                return self._live
            self.close()
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        folder.chmod(0o755)
        live = self._launch(self._job, folder)
        self._live, self._owner = live, os.getpid()
        weakref.finalize(self, _end_own, live, self._owner)
        try:
            line = _read_line(live, time.monotonic() + _START_S)
        except _Broken as broken:
            text = live.noise.decode(errors="replace")
            self.close()
            why = broken.ended or (text.strip().splitlines() or ["no message"])[-1][:300]
            raise SandboxFault(f"the warm sandbox did not start: {why}") from None
        if line != b"ready":
            self.close()
            raise SandboxFault(f"the warm sandbox answered {line[:80]!r}")
        return live

    def _line(self, task: Task, inside: Path, out: Path) -> bytes:
        limits = self._job.limits
        given = [
            value.replace("{in}", str(inside)).replace("{out}", str(out))
            if isinstance(value, str)
            else value
            for value in task.args
        ]
        body = {
            "entry": task.entry,
            "args": given,
            "wall_s": limits.wall_s,
            "log_bytes": limits.log_bytes,
            "out_bytes": limits.out_bytes,
            "rlimits": _rlimits(limits),
        }
        return json.dumps(body).encode() + b"\n"

    def _exchange(self, live: Started, line: bytes) -> tuple[dict[str, Any], bytes, bytes]:
        assert live.process.stdin is not None
        limits = self._job.limits
        deadline = time.monotonic() + limits.wall_s + _ANSWER_GRACE_S
        try:
            live.process.stdin.write(line)
            live.process.stdin.flush()
        except OSError:
            raise _Broken(None) from None
        header: dict[str, Any] = json.loads(_read_line(live, deadline))
        if header["archive"] > limits.out_bytes + _TAR_OVERHEAD:
            raise _Broken("output_limit")
        log = _read(live, header["log"], deadline)
        return header, log, _read(live, header["archive"], deadline)

    def _result(
        self, header: dict[str, Any], log: bytes, archive: bytes, wall_s: float
    ) -> SandboxResult:
        limits = self._job.limits
        why, code, cpu_s = header["ended"], header["status"], float(header["cpu_s"])
        files, notes = ({}, ()) if why else read_archive(archive, limits.out_bytes)
        log = log[: limits.log_bytes]
        if why:
            return SandboxResult(why, None, None, log, {}, wall_s, cpu_s)
        if code >= 0:
            return SandboxResult("exited", code, None, log, files, wall_s, cpu_s, notes)
        out_of_cpu = -code == signal.SIGXCPU or (
            -code == signal.SIGKILL and cpu_s >= limits.cpu_s - 0.5
        )
        ended = "cpu_limit" if out_of_cpu else "signalled"
        number = None if out_of_cpu else -code
        return SandboxResult(ended, None, number, log, files, wall_s, cpu_s, notes)


def _rlimits(limits: Limits) -> dict[str, int]:
    return {
        "RLIMIT_CPU": limits.cpu_s,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_FSIZE": max(limits.out_bytes, limits.tmp_bytes),
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": limits.processes,
    }


def _read_line(live: Started, deadline: float) -> bytes:
    found = bytearray()
    while not found.endswith(b"\n"):
        if len(found) > _MAX_HEADER:
            raise _Broken(None)
        found += _read(live, 1, deadline)
    return bytes(found[:-1])


def _read(live: Started, count: int, deadline: float) -> bytes:
    """Exactly `count` bytes of the answer stream, watching limits meanwhile."""
    assert live.process.stdout is not None and live.process.stderr is not None
    answers, noise = live.process.stdout.fileno(), live.process.stderr.fileno()
    found = bytearray()
    while len(found) < count:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _Broken("timeout")
        ready, _, _ = select.select([answers, noise], [], [], min(_POLL_S, left))
        if noise in ready and (text := os.read(noise, 1 << 16)):
            # Only the process itself could write here, in trouble; told before its end is seen.
            live.noise[:] = (live.noise + text)[-_MAX_HEADER:]
        elif answers in ready:
            data = os.read(answers, min(1 << 16, count - len(found)))
            if not data:
                raise _Broken(None)
            found += data
        if not ready and (why := live.watch(live.process.pid)) is not None:
            raise _Broken(why)
    return bytes(found)


def _group_ending(live: Started) -> str | None:
    return "memory_limit" if live.group is not None and live.group.out_of_memory() else None


def _end_own(live: Started, owner: int) -> None:
    """End a warm sandbox, unless this is a forked copy of the process that started it."""
    if owner != os.getpid():
        return
    process = live.process
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    shutil.rmtree(live.folder, ignore_errors=True)
    if live.group is not None:
        live.group.close()
