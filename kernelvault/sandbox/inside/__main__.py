"""The one program of ours inside every sandbox: starts tasks, stops them, sends what they wrote.

Runs as a folder with the standard library only, as the first process of the sandbox. A task is one
line of JSON on stdin. Its log is our stderr, followed by a mark that was made after its last
process had died, so that no task can know it. The answer on stdout is one line of JSON and, in
frames, a tar of the output folder. End of file on stdin, at any moment, ends this process and so
the sandbox.

What keeps this process out of a task's reach: it is the init of the pid namespace, which no signal
from inside can kill; it cannot be traced and its memory and descriptors cannot be opened; as root,
each task has a uid of its own. Nothing of a task enters its memory but the line that named it:
answers are read and packed by a fork, so what is forked for the next task knows no earlier one.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from kernelvault.sandbox.inside import answering, rights
else:
    import answering  # these lie beside this file, in a sandbox too
    import rights

_POLL_S = 0.05
_MAX_POLL_S = 3600.0
_CHUNK = 1 << 16
_CANNOT_EXECUTE = 127
# A shell that starts a supervisor in the background has it ignore two of these.
_USUAL_SIGNALS = (signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def main(config: dict[str, Any]) -> None:
    """Serve tasks until stdin ends.

    `config`: `preload`, a module to import first, or null; `alone`, whether this is the init of a
    pid namespace; `uids`, the first uid that tasks get, or null; `groups` that tasks are in;
    `folders` that a task may write, the first its output; `memory`, bytes that tasks may use
    together where no cgroup limits them, or null; `oom`, a file of the cgroup that counts kills.
    """
    rights.prctl(rights.PR_SET_DUMPABLE, 0)
    if not config["alone"]:
        rights.prctl(rights.PR_SET_CHILD_SUBREAPER, 1)
    answers = os.dup(1)
    os.dup2(2, 1)  # nothing but answers may reach the answer stream
    if config["preload"]:
        with _leaving_with_our_supervisor():
            module = importlib.import_module(config["preload"])
            if prepare := getattr(module, "preload", None):
                prepare()
    _in_fork(lambda: answering.wipe(config["folders"]))
    gc.collect()
    gc.freeze()  # a task's collector need not touch, and so copy, what it shares with us
    os.write(answers, b"ready\n")
    served = 0
    while True:
        line = _read_line()
        if line == answering.STOP:
            continue  # meant for a task that had just ended
        served += 1
        _serve(json.loads(line), served, config, answers)


def _read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(0, _CHUNK)
        if not data:
            _leave()
        line += data
    return line


def _serve(task: dict[str, Any], number: int, config: dict[str, Any], answers: int) -> None:
    """Run one task to its end or limit, send its answer, remove its traces."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    kills = _oom_kills(config["oom"])
    child = os.fork()
    if child == 0:
        _child(task, number, config)
    why = _wait(child, task, config)
    status = _end_all(child)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if _oom_kills(config["oom"]) > kills:
        why = "memory_limit"
    mark = os.urandom(16).hex()
    header = {"code": os.waitstatus_to_exitcode(status), "why": why, "cpu_s": cpu_s, "mark": mark}
    out, most = config["folders"][0], task["out_bytes"]
    if not _in_fork(lambda: answering.answer(header, answers, out, most)):
        _leave()
    # Behind the header that names it: who reads a mark can tell that it is no output.
    os.set_blocking(2, True)  # a task shares this pipe and may have set it to what it liked
    answering.write(2, mark.encode())
    # Where something cannot be removed, no other task may come.
    clean = bool(task.get("last")) or _in_fork(lambda: answering.wipe(config["folders"]))
    answering.write(answers, answering.CLEAN if clean else answering.SPOILED)
    if not clean:
        _leave()


def _child(task: dict[str, Any], number: int, config: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        os.setsid()
        rights.drop(number, config)
        null = os.open("/dev/null", os.O_RDONLY)
        for name, value in task["rlimits"].items():
            rights.limit(name, value, config)
        os.dup2(null, 0)
        os.closerange(3, 1 << 16)
        for usual in _USUAL_SIGNALS:
            signal.signal(usual, signal.SIG_DFL)
        if "argv" in task:
            _execute(task["argv"])
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


def _execute(argv: list[str]) -> None:
    os.umask(0o022)
    try:
        os.execvp(argv[0], argv)
    except (OSError, ValueError, IndexError) as error:
        name = argv[0] if argv else "no program"
        why = error.strerror if isinstance(error, OSError) else error
        os.write(2, f"{name}: {why}\n".encode(errors="replace"))
        os._exit(_CANNOT_EXECUTE)


def _wait(child: int, task: dict[str, Any], config: dict[str, Any]) -> str | None:
    """Wait for the child; the name of the limit that stopped it, if any."""
    deadline = time.monotonic() + task["wall_s"]
    handle = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.register(0, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            step = min(_POLL_S if config["memory"] else _MAX_POLL_S, left)
            ready = {number for number, _ in poll.poll(step * 1000)}
            if handle in ready:
                return None
            if 0 in ready:
                if not os.read(0, _CHUNK):
                    _leave()
                return "stopped"
            if config["memory"] and _memory(config["folders"]) > config["memory"]:
                return "memory_limit"
    finally:
        os.close(handle)


def _memory(folders: list[str]) -> int:
    """Bytes that tasks use: resident pages, page tables, files in memory.

    Pages that processes share are counted once for each: the figure errs towards stopping early.
    """
    total = 0
    for folder in filter(os.path.ismount, folders):
        usage = os.statvfs(folder)
        total += (usage.f_blocks - usage.f_bfree) * usage.f_frsize
    for pid in _descendants():
        try:
            text = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue  # the process ended while we looked
        for line in text.splitlines():
            if line.startswith(("VmRSS:", "VmPTE:")):
                total += int(line.split()[1]) * 1024
    return total


def _descendants() -> list[int]:
    """All processes of tasks. Daemons stay among them, because we adopt them."""
    if os.getpid() == 1:
        return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and p.name != "1"]
    found, todo = [], [os.getpid()]
    while todo:
        for thread in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                children = list(map(int, thread.read_text().split()))
                found += children
                todo += children
    return found


def _end_all(child: int) -> int:
    """Kill every process of the task and collect them all; the wait status of `child`."""
    status = 0
    alone = os.getpid() == 1
    while True:
        if alone:
            # From an init this reaches everything in the namespace but itself, at one moment.
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            for pid in _descendants():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        try:
            pid, ended = os.waitpid(-1, 0 if alone else os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            time.sleep(0.001)  # one that was just born may have been missed: look again
        if pid == child:
            status = ended


def _in_fork(action: Any) -> bool:
    """Do it in a fork, so that what it reads never enters this process; whether it went well.

    The fork is the last process of the sandbox, so that ending our supervisor ends it too: its
    writes fail, and its reads and removals are bounded by the sizes of the folders.
    """
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except BaseException:  # noqa: BLE001  (told by the exit status)
            os._exit(1)
        os._exit(0)
    handle = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(0, 0)  # hang-up alone
    while handle not in {number for number, _ in poll.poll()}:
        _leave()
    os.close(handle)
    return os.waitpid(pid, 0)[1] == 0


def _oom_kills(counter: str | None) -> int:
    """How often the kernel killed in this cgroup, by its memory.events or memory.oom_control."""
    if counter is None:
        return 0
    for line in Path(counter).read_text().splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0


@contextlib.contextmanager
def _leaving_with_our_supervisor() -> Any:
    """Within the block, a thread ends this process when the other end of stdin has gone."""
    ours, theirs = os.pipe()

    def watch() -> None:
        poll = select.poll()
        poll.register(0, 0)
        poll.register(ours, select.POLLIN)
        if 0 in {number for number, _ in poll.poll()}:
            _leave()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        os.write(theirs, b"x")
        thread.join()
        os.close(ours)
        os.close(theirs)


def _leave() -> NoReturn:
    if os.getpid() != 1:
        for pid in _descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
