"""Runs jobs and warm tasks on whatever a backend can start; all that backends have in common."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace

from kernelvault.errors import SandboxFault
from kernelvault.sandbox.contract import Job, SandboxResult, Task, WarmJob
from kernelvault.sandbox.pool import Pool
from kernelvault.sandbox.session import Session, write_inputs
from kernelvault.sandbox.setup import Setup, Start, order_of, rlimits

_WARM_READY_S = 120.0


class Engine:
    """`start` makes a sandbox; `data_bytes` gives the limit of one process's own memory where the
    backend needs one beside its limit of the whole; `count_by_uid` as in `rlimits`."""

    def __init__(
        self,
        start: Start,
        data_bytes: Callable[[int], int | None],
        *,
        count_by_uid: bool = True,
    ) -> None:
        self._start = _telling(start)
        self._data_bytes = data_bytes
        self._count_by_uid = count_by_uid
        self._pool = Pool(self._start)

    def run(self, job: Job) -> SandboxResult:
        """Run a job in a sandbox of its own, and end that. Raises SandboxFault."""
        began = time.monotonic()
        session = self._pool.take(Setup.of(job))
        try:
            write_inputs(session.place.folder, job.inputs)
            moved = {"/in": session.place.inside, "/out": session.place.out}
            argv = tuple(_moved(argument, moved) for argument in job.argv)
            data_bytes = self._data_bytes(job.limits.memory_bytes)
            order = order_of(replace(job, argv=argv), data_bytes, self._count_by_uid)
            result = session.run(order, job.limits)
        except BaseException:
            session.end()
            raise
        self._pool.retire(session)
        return replace(result, wall_s=time.monotonic() - began)

    def warm(self, job: WarmJob) -> Warm:
        """A sandbox that stays, started at its first task."""
        data_bytes = self._data_bytes(job.limits.memory_bytes)
        return Warm(job, self._start, rlimits(job.limits, data_bytes, self._count_by_uid))

    def close(self) -> None:
        """End the sandboxes kept ready."""
        self._pool.close()


def _telling(start: Start) -> Start:
    """`start`, whose OSErrors (a full disk, for one) become a SandboxFault with a next step."""

    def told(setup: Setup) -> Session:
        try:
            return start(setup)
        except OSError as error:
            folder = tempfile.tempdir or "the folder for temporary files"
            raise SandboxFault(
                f"the sandbox cannot be made: {error} (its files are in {folder})",
                f"free space in {folder}, or set TMPDIR to another folder",
            ) from error

    return told


def _moved(argument: str, moved: dict[str, str]) -> str:
    """An argument in or below `/in` or `/out`, by the path that the sandbox has for it."""
    for prefix, folder in moved.items():
        if argument == prefix or argument.startswith(prefix + "/"):
            return folder + argument.removeprefix(prefix)
    return argument


class Warm:
    """`WarmSandbox` over a way to start one; started on the first task, and again when broken."""

    def __init__(self, job: WarmJob, start: Start, limits: Mapping[str, int]) -> None:
        self._job = job
        self._start = start
        self._rlimits = limits
        self._live: Session | None = None
        self._numbers = itertools.count()

    def run(self, task: Task) -> SandboxResult:
        """Run one task. Raises SandboxFault when the sandbox, not the task, fails."""
        live = self._started()
        began = time.monotonic()
        name = f"task-{next(self._numbers)}"
        folder = live.place.folder / name
        try:
            folder.mkdir(mode=0o755)
            write_inputs(folder, task.inputs)
            places = {"{in}": f"{live.place.inside}/{name}", "{out}": live.place.out}
            order = {
                "entry": task.entry,
                "args": [_filled(value, places) for value in task.args],
                "rlimits": self._rlimits,
            }
            result = live.run(order, self._job.limits)
        except OSError as error:
            raise SandboxFault(f"the inputs of a task cannot be written: {error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return replace(result, wall_s=time.monotonic() - began)

    def close(self) -> None:
        """End the process and everything in its sandbox."""
        live, self._live = self._live, None
        if live is not None:
            live.end()

    def _started(self) -> Session:
        if self._live is not None and self._live.alive:
            return self._live
        live = self._start(Setup.of(self._job))
        live.wait_ready(_WARM_READY_S)
        self._live = live
        weakref.finalize(self, live.end)
        return live


def _filled(value: str | int | float, places: dict[str, str]) -> str | int | float:
    if isinstance(value, str):
        for name, path in places.items():
            value = value.replace(name, path)
    return value
