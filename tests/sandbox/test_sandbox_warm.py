"""Warm sandboxes: many tasks in one sandbox, each as if it were alone in a new one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelvault.errors import SandboxFault
from kernelvault.sandbox import Limits, Mount, Task, WarmJob, WarmSandbox, open_sandbox

HERE = Path(__file__).parent
MiB = 1 << 20
LIMITS = Limits(wall_s=4, cpu_s=2, memory_bytes=256 * MiB, log_bytes=1 << 16)


def job(preload: str = "warm_tasks") -> WarmJob:
    mounts = {Path(sys.base_prefix), Path(sys.prefix), HERE}
    usable = tuple(Mount(path) for path in mounts if not path.is_relative_to("/usr"))
    return WarmJob(Path(sys.executable), preload, usable, {"PYTHONPATH": str(HERE)}, LIMITS)


@pytest.fixture(scope="module", params=["bubblewrap", "subprocess"])
def warm(request: pytest.FixtureRequest) -> Iterator[WarmSandbox]:
    made = open_sandbox(request.param).warm(job())
    yield made
    made.close()


@pytest.fixture(scope="module")
def isolated() -> Iterator[WarmSandbox]:
    made = open_sandbox("bubblewrap").warm(job())
    yield made
    made.close()


def answer(warm: WarmSandbox, name: str) -> str:
    result = warm.run(Task(f"warm_tasks:{name}", ("{out}",)))
    assert result.ok, result.log
    return result.files["answer"].decode()


def test_a_task_gets_inputs_and_gives_files(warm: WarmSandbox) -> None:
    task = Task("warm_tasks:copy", ("{in}", "{out}"), {"text": "grüße".encode()})
    result = warm.run(task)
    assert result.ok, result.log
    assert result.files["answer"].decode() == "grüße True True"
    assert result.cpu_s < 1


def test_output_is_one_log(warm: WarmSandbox) -> None:
    assert warm.run(Task("warm_tasks:say", ("hello",))).log == b"hello\nhello\n"


def test_an_exception_is_told_in_the_log(warm: WarmSandbox) -> None:
    result = warm.run(Task("warm_tasks:fail"))
    assert (result.ended, result.exit_code) == ("exited", 1)
    assert b"ValueError: a message" in result.log


@pytest.mark.parametrize(
    ("name", "ended"),
    [
        ("spin", "cpu_limit"),
        ("sleep_on", "timeout"),
        ("eat_memory", "memory_limit"),
        ("flood", "log_limit"),
        ("crash", "signalled"),
    ],
)
def test_limits_stop_a_task_and_not_the_next(warm: WarmSandbox, name: str, ended: str) -> None:
    assert warm.run(Task(f"warm_tasks:{name}")).ended == ended
    assert warm.run(Task("warm_tasks:say", ("again",))).log == b"again\nagain\n"


def test_nothing_is_left_for_the_next_task(isolated: WarmSandbox) -> None:
    assert isolated.run(Task("warm_tasks:leave_traces", ("{out}",))).ok
    assert answer(isolated, "look_for_traces") == "[]"


def test_a_task_cannot_read_or_trace_the_process_it_came_from(isolated: WarmSandbox) -> None:
    assert answer(isolated, "read_parent") == "([], -1)"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give each task a uid of its own")
def test_tasks_have_no_rights_and_different_uids(isolated: WarmSandbox) -> None:
    first, second = (answer(isolated, "rights").split(" ", 2) for _ in range(2))
    assert first[0] != second[0] != "0"
    assert first[1] == "0000000000000000"
    assert len(eval(first[2])) <= 4  # stdin, log twice, and the folder being listed


def test_only_regular_files_come_out(warm: WarmSandbox) -> None:
    result = warm.run(Task("warm_tasks:odd_files", ("{out}",)))
    assert result.files == {"good": b"good"}


def test_a_task_cannot_forge_an_answer(warm: WarmSandbox) -> None:
    result = warm.run(Task("warm_tasks:forge", ("{out}",)))
    assert (result.ended, result.exit_code) == ("exited", 7)


def test_killing_the_process_behind_is_a_crash_of_that_task_alone(isolated: WarmSandbox) -> None:
    result = isolated.run(Task("warm_tasks:kill_parent"))
    assert not result.ok
    assert isolated.run(Task("warm_tasks:say", ("on",))).log == b"on\non\n"


def test_a_preload_that_fails_is_our_fault() -> None:
    with pytest.raises(SandboxFault, match="no_such_module"):
        open_sandbox("bubblewrap").warm(job("no_such_module")).run(Task("warm_tasks:fail"))


def test_closing_leaves_no_process() -> None:
    before = processes_below(os.getpid())
    made = open_sandbox("bubblewrap").warm(job())
    assert made.run(Task("warm_tasks:say", ("x",))).ok
    assert processes_below(os.getpid()) - before
    made.close()
    deadline = time.monotonic() + 1
    while processes_below(os.getpid()) - before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_below(os.getpid()) - before == set()


def processes_below(pid: int) -> set[int]:
    """The descendants of a process that run a sandbox of these tasks' module."""
    listing = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listing.stdout.splitlines()[1:]]
    below = {pid}
    while more := {int(own) for own, parent, _ in rows if int(parent) in below} - below:
        below |= more
    return {int(own) for own, _, args in rows if int(own) in below and "warm_tasks" in args}
