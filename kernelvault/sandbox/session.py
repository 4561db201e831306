"""The conversation with one running sandbox: hand it an order, collect its log and its answer."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelvault.errors import SandboxFault
from kernelvault.sandbox.archive import read_archive
from kernelvault.sandbox.contract import Limits, SandboxResult
from kernelvault.sandbox.inside.answering import CLEAN, SPOILED, STOP
from kernelvault.sandbox.link import Link

_ANSWER_GRACE_S = 10.0
_MAX_HEADER = 4096
_MARK_BYTES = 32
_TAR_OVERHEAD = 2 << 20
_MAX_NOISE = 4096
_WORLD_READABLE = 0o004
_WORLD_EXECUTABLE = 0o001
_CHUNK = 1 << 20


def _no_kills() -> int:
    return 0


def _nothing() -> None:
    return


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sandbox's inputs are written, and what it calls that folder and its output folder."""

    folder: Path
    inside: str = "/in"
    out: str = "/out"


@dataclass(slots=True)
class Session:
    """A sandbox with a runner in it.

    `oom_kills` counts what the kernel killed for memory; `died_of_memory` says, of a sandbox that
    has gone, whether it was for that; `isolated` says that a task cannot end the runner, so that
    its end is our fault; `released` is called when the sandbox has ended.
    """

    link: Link
    place: Place
    isolated: bool = True
    oom_kills: Callable[[], int] = _no_kills
    died_of_memory: Callable[[], bool] = bool
    released: Callable[[], None] = _nothing
    _owner: int = field(default_factory=os.getpid)
    _early: bytearray = field(default_factory=bytearray)
    _ended: bool = False

    def wait_ready(self, timeout_s: float) -> None:
        """Wait for the runner; raises SandboxFault with what it said when it does not come up."""
        deadline = time.monotonic() + timeout_s
        noise = bytearray()
        answer = self._early
        while not answer.startswith(b"ready\n"):
            left = deadline - time.monotonic()
            events = self.link.receive(left) if left > 0 else []
            for channel, data in events:
                if channel == "log":
                    noise[:] = (noise + data)[-_MAX_NOISE:]
                else:
                    answer += data
            if left <= 0 or ("answer", b"") in events:
                noise += b"".join(d for c, d in self.link.receive(0.2) if c == "log")
                self.end()
                lines = noise.decode(errors="replace").strip().splitlines()
                why = lines[-1][:300] if lines else "no message"
                raise SandboxFault(f"the sandbox did not start: {why}", "run `kernelvault doctor`")
        answer[:] = answer.removeprefix(b"ready\n")

    def run(self, order: Mapping[str, Any], limits: Limits) -> SandboxResult:
        """Run one order to its end. Afterwards `alive` says whether another may follow.

        Raises SandboxFault when the sandbox itself fails.
        """
        began = time.monotonic()
        kills = self.oom_kills()
        line = json.dumps({**order, "wall_s": limits.wall_s, "out_bytes": limits.out_bytes})
        answer = _Answer(limits)
        try:
            self.link.send(line.encode() + b"\n")
            self._converse(answer, began + limits.wall_s + _ANSWER_GRACE_S)
        except (OSError, _Broken) as broken:
            out_of_memory = self.oom_kills() > kills or self.died_of_memory()
            self.end()
            if not out_of_memory and self.isolated:
                raise SandboxFault(f"the sandbox ended in the middle of a run: {broken}") from None
            return SandboxResult(
                "memory_limit" if out_of_memory else "signalled",
                None,
                None if out_of_memory else int(signal.SIGKILL),
                answer.log(),
                {},
                time.monotonic() - began,
                0.0,
            )
        why = "memory_limit" if self.oom_kills() > kills else None
        if answer.spoiled:
            self.end()
        return answer.result(why, time.monotonic() - began)

    @property
    def alive(self) -> bool:
        """Whether the sandbox still stands. A forked copy of its owner must leave it alone."""
        return not self._ended and self._owner == os.getpid()

    def stands(self) -> bool:
        """Whether a sandbox that was ready still is: nothing came from it. Ends one that is not."""
        try:
            ready = self.alive and not self.link.receive(0)
        except OSError:
            ready = False
        if not ready:
            self.end()
        return ready

    def end(self) -> None:
        """End the sandbox and remove its folder; nothing in a forked copy of its owner."""
        if not self.alive:
            return
        self._ended = True
        self.link.end()
        shutil.rmtree(self.place.folder, ignore_errors=True)
        self.released()

    def _converse(self, answer: _Answer, deadline: float) -> None:
        stopped = False
        while not answer.complete:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _Broken("no answer in time")
            for channel, data in self.link.receive(left):
                if channel == "log":
                    answer.add_log(data)
                elif data:
                    answer.add(data)
                else:
                    raise _Broken("its first process has gone")
            if answer.flooded and not stopped:
                stopped = True
                self.link.send(STOP)


class _Broken(Exception):
    """The runner has gone or talks nonsense."""


class _Answer:
    """What came back so far: the log before its mark, the header, the frames of the archive."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._log = bytearray()
        self._log_bytes = 0
        self._tail = b""
        self._data = bytearray()
        self._header: dict[str, Any] | None = None
        self._archive = bytearray()
        self._whole = False
        self.spoiled = False

    @property
    def flooded(self) -> bool:
        return self._log_bytes > self._limits.log_bytes + _MARK_BYTES

    @property
    def complete(self) -> bool:
        """Whether the whole answer is there and, by the mark, the whole log."""
        return self._whole and self._marked

    @property
    def _marked(self) -> bool:
        return self._header is not None and self._tail == str(self._header["mark"]).encode()

    def add_log(self, data: bytes) -> None:
        self._log_bytes += len(data)
        self._tail = (self._tail + data[-_MARK_BYTES:])[-_MARK_BYTES:]
        room = self._limits.log_bytes + _MARK_BYTES - len(self._log)
        self._log += data[: max(room, 0)]

    def add(self, data: bytes) -> None:
        self._data += data
        if self._header is None:
            line, newline, rest = self._data.partition(b"\n")
            if not newline and len(line) <= _MAX_HEADER:
                return
            self._header = json.loads(line)
            self._data = rest
        start = 0
        while not self._whole and len(self._data) >= start + 4:
            word = bytes(self._data[start : start + 4])
            if word in (CLEAN, SPOILED):
                self._whole, self.spoiled = True, word == SPOILED
                break
            size = int.from_bytes(word, "big")
            if len(self._data) < start + 4 + size:
                break
            self._archive += self._data[start + 4 : start + 4 + size]
            start += 4 + size
        del self._data[:start]
        if len(self._archive) + len(self._data) > self._limits.out_bytes + _TAR_OVERHEAD:
            raise _Broken("it sent more than its output may be")

    def log(self) -> bytes:
        """The log so far, without the mark, cut to its limit."""
        marked = _MARK_BYTES if self._marked else 0
        return bytes(self._log[: min(self._log_bytes - marked, self._limits.log_bytes)])

    def result(self, why: str | None, wall_s: float) -> SandboxResult:
        assert self._header is not None
        code, cpu_s = int(self._header["code"]), float(self._header["cpu_s"])
        why = why or ("log_limit" if self.flooded else self._header["why"])
        log = self.log()
        if why is not None:
            return SandboxResult(why, None, None, log, {}, wall_s, cpu_s)
        files, notes = read_archive(bytes(self._archive), self._limits.out_bytes)
        if code >= 0:
            return SandboxResult("exited", code, None, log, files, wall_s, cpu_s, notes)
        killed_late = -code == signal.SIGKILL and cpu_s >= self._limits.cpu_s - 0.5
        if -code == signal.SIGXCPU or killed_late:
            return SandboxResult("cpu_limit", None, None, log, files, wall_s, cpu_s, notes)
        return SandboxResult("signalled", None, -code, log, files, wall_s, cpu_s, notes)


def write_inputs(folder: Path, inputs: Mapping[str, bytes | Path]) -> None:
    """Put inputs into `folder`, readable by any uid.

    A host file that everybody may read is linked where the file system allows, others are copied.
    Raises ValueError for a name that is not plain, SandboxFault when something is no regular file,
    cannot be read or changes meanwhile, or when the disk is full.
    """
    for key, value in inputs.items():
        if "/" in key or key.startswith(".") or not key:
            raise ValueError(f"input {key!r} is not a plain file name")
        path = folder / key
        try:
            if isinstance(value, bytes):
                path.write_bytes(value)
            elif not stat.S_ISREG(value.stat().st_mode):
                raise OSError(f"{value} is no regular file")
            elif _linked(value, path):
                continue
            else:
                _copy(value, path)
            path.chmod(_mode(value))
        except OSError as error:
            reason = f"the input {key!r} cannot be put into the sandbox: {error}"
            raise SandboxFault(reason, "free space, or give the file to this user") from error


def _mode(value: bytes | Path) -> int:
    """Of a copy, which is a program when everybody may run what it was copied from."""
    program = isinstance(value, Path) and value.stat().st_mode & _WORLD_EXECUTABLE
    return 0o755 if program else 0o644


def _linked(source: Path, path: Path) -> bool:
    try:
        if source.is_symlink() or not source.stat().st_mode & _WORLD_READABLE:
            return False
        os.link(source, path)
    except OSError:
        return False
    return True


def _copy(source: Path, path: Path) -> None:
    with source.open("rb") as file, path.open("wb") as copy:
        before = os.fstat(file.fileno())
        room = before.st_size + 1  # a file that grows all the time has no end
        while room and (data := file.read(min(room, _CHUNK))):
            copy.write(data)
            room -= len(data)
        after = os.fstat(file.fileno())
    if room != 1 or (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise OSError(f"{source} changed while it was read")
