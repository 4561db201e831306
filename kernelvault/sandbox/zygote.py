"""The process inside a warm sandbox: imports once, then forks a child for every task.

Runs by path with the standard library only. A task is one line of JSON on stdin, its result one
line of JSON on stdout followed by the log and a tar of `/out`. What keeps tasks apart: each runs in
a child of its own; as root the child changes to a uid that no other task has; this process cannot
be traced or read; when a child ends, everything it started is killed and everything it wrote is
removed before the next task begins.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import io
import json
import os
import resource
import select
import shutil
import signal
import stat
import sys
import tarfile
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38
PR_CAPBSET_DROP = 24
_UIDS = 1000
_POLL_S = 0.1
_MAX_FILES = 256


def main(preload: str, own_pids: str, first_uid: str, folders: list[str]) -> None:
    """Serve tasks until stdin ends. `folders` are what a task may write: the first is its output.

    `own_pids` is `1` when this process lives in a pid namespace of its own; tasks get uids from
    `first_uid` on when it runs as root.
    """
    _prctl(PR_SET_DUMPABLE, 0)
    module = importlib.import_module(preload)
    if warm := getattr(module, "preload", None):
        warm()
    for folder in folders:
        _wipe(Path(folder))
    gc.collect()
    gc.freeze()  # a task's collector need not touch, and so copy, what it shares with us
    served = 0
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # nothing but answers may reach the answer stream
        answers.write(b"ready\n")
        answers.flush()
        for line in sys.stdin.buffer:
            served += 1
            uid = int(first_uid) + served % _UIDS
            header, log, archive = _serve(json.loads(line), uid, own_pids == "1", folders)
            header |= {"log": len(log), "archive": len(archive)}
            answers.write(json.dumps(header).encode() + b"\n" + log + archive)
            answers.flush()


def _serve(
    task: dict[str, Any], uid: int, own_pids: bool, folders: list[str]
) -> tuple[dict[str, Any], bytes, bytes]:
    """Run one task to its end or limit; (header, log, tar of its output folder)."""
    log = os.memfd_create("log")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        _child(task, uid, log)
    why = _wait(child, log, task)
    _kill_others(child, own_pids)
    _, status = os.waitpid(child, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    _kill_others(None, own_pids)
    text = os.pread(log, task["log_bytes"] + 1, 0)
    os.close(log)
    archive = b"" if why else _pack(Path(folders[0]), task["out_bytes"])
    for folder in folders:
        _wipe(Path(folder))
    code = os.waitstatus_to_exitcode(status)
    return {"status": code, "ended": why, "cpu_s": cpu_s}, text, archive


def _child(task: dict[str, Any], uid: int, log: int) -> NoReturn:
    code = 1
    try:
        os.setsid()
        _drop_rights(uid)
        for name, value in task["rlimits"].items():
            limit = getattr(resource, name)
            hard = value + 1 if name == "RLIMIT_CPU" else value
            resource.setrlimit(limit, (value, hard))
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, 1 << 16)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115  (lives as long as the child)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
        module, _, function = task["entry"].partition(":")
        getattr(importlib.import_module(module), function)(*task["args"])
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001  (whatever a task raises is told in its log)
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _drop_rights(uid: int) -> None:
    if os.geteuid() == 0:
        for capability in range(64):
            _prctl(PR_CAPBSET_DROP, capability)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def _wait(child: int, log: int, task: dict[str, Any]) -> str | None:
    """Wait for the child; the name of the limit that it ran into, if any."""
    deadline = time.monotonic() + task["wall_s"]
    handle = os.pidfd_open(child)
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            ready, _, _ = select.select([handle], [], [], min(_POLL_S, left))
            if os.fstat(log).st_size > task["log_bytes"]:
                return "log_limit"
            if ready:
                return None
    finally:
        os.close(handle)


def _kill_others(child: int | None, own_pids: bool) -> None:
    """Kill what the task started; in our own pid namespace that is everything but init and us."""
    if not own_pids:
        if child is not None:
            _kill(os.killpg, child)
        return
    for _ in range(1000):
        others = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
        others = [pid for pid in others if pid not in (1, os.getpid(), child) and not _dead(pid)]
        if child is not None:
            _kill(os.kill, child)
        if not others:
            return
        for pid in others:
            _kill(os.kill, pid)
        time.sleep(0.001)


def _dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def _kill(how: Any, pid: int) -> None:
    try:
        how(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _pack(folder: Path, max_bytes: int) -> bytes:
    """A tar of the regular files at the top of `folder`; links and the like are left out."""
    stream = io.BytesIO()
    left = max_bytes
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for entry in sorted(os.scandir(folder), key=lambda e: e.name)[:_MAX_FILES]:
            if not entry.is_file(follow_symlinks=False):
                continue
            handle = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                found = os.fstat(handle)
                if not stat.S_ISREG(found.st_mode) or found.st_size > left:
                    continue
                left -= found.st_size
                info = tarfile.TarInfo(entry.name)
                info.size = found.st_size
                archive.addfile(info, file)
    return stream.getvalue()


def _wipe(folder: Path) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            Path(entry.path).unlink(missing_ok=True)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
