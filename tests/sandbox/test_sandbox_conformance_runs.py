"""The sandbox contract, part three: logs, exits and times.

Each test runs on every backend; every result is also checked to agree with itself.
"""

from __future__ import annotations

import signal

import pytest
from conformance import Box, MiB, python, shell

from kernelvault.sandbox import Job, SandboxResult

ARGUMENTS = ("two words", "", "line\nend\n", "grüße ✓", "-n", "$HOME `id`", "'\"\\", "\udcff", " ")
KILLS_ITSELF = """
import os, signal
if signal.{name} != signal.SIGKILL:
    signal.signal(signal.{name}, signal.SIG_DFL)
os.kill(os.getpid(), signal.{name})
"""
BURN = """
import os, time
if not os.fork():
    while time.process_time() < 0.4: pass
    os._exit(0)
os.wait()
"""


def test_both_streams_are_in_the_log_in_order(box: Box) -> None:
    script = "for i in $(seq 300); do echo $i; echo e$i >&2; done"
    expected = "".join(f"{i}\ne{i}\n" for i in range(1, 301))
    assert box.shell(script).log.decode() == expected


def test_any_bytes_are_in_the_log_as_they_were_written(box: Box) -> None:
    data = bytes(range(256)) * 100 + b"\r\n\0\xff no newline at the end"
    assert box.shell("cat /in/data", {"data": data}).log == data


def test_a_silent_program_has_an_empty_log(box: Box) -> None:
    assert box.argv("true").log == b""


def test_children_write_to_the_same_log(box: Box) -> None:
    assert box.shell("(setsid sh -c 'echo child'); (echo grandchild >&2) & wait").log == (
        b"child\ngrandchild\n"
    )


def test_a_log_that_just_fits_is_whole(box: Box) -> None:
    result = box.shell("head -c 50000 /dev/zero | tr '\\0' a", log_bytes=50_000)
    assert result.ok
    assert result.log == b"a" * 50_000


TOO_MUCH = {
    more: shell(f"head -c {50_000 + more} /dev/zero | tr '\\0' a", log_bytes=50_000)
    for more in (1, 31, 32, 33, 1_000_000)
}


@pytest.mark.parametrize("more", TOO_MUCH)
def test_a_longer_log_is_cut_and_said_to_be(box: Box, more: int) -> None:
    result = box.one_of(TOO_MUCH, more)
    assert result.ended == "log_limit"
    assert result.log == b"a" * 50_000


def test_a_log_that_looks_like_our_marks_is_kept(box: Box) -> None:
    text = b"0123456789abcdef" * 2
    assert box.shell("printf 0123456789abcdef0123456789abcdef").log == text


def test_a_program_may_close_or_change_its_streams(box: Box) -> None:
    code = (
        "import os, sys; os.write(1, b'before'); os.set_blocking(1, False); "
        "os.close(1); os.close(2); os.close(0)"
    )
    result = box.argv("python3", "-c", code)
    assert (result.exit_code, result.log) == (0, b"before")


def test_what_was_written_before_a_timeout_is_kept(box: Box) -> None:
    result = box.shell("echo early; echo also >&2; sleep 30; echo late", wall_s=1)
    assert (result.ended, result.log) == ("timeout", b"early\nalso\n")


def test_what_was_written_before_memory_ran_out_is_kept(box: Box) -> None:
    result = box.shell(
        "echo early; head -c 400000000 /dev/zero > /tmp/x; sleep 30",
        memory_bytes=128 * MiB,
        tmp_bytes=1024 * MiB,
    )
    assert result.ended == "memory_limit"
    assert result.log in (b"early\n", b"early\nKilled\n")


CODES = {code: shell(f"exit {code}") for code in (0, 1, 2, 126, 128, 137, 255)}
SIGNALS = {
    name: python(KILLS_ITSELF.format(name=name))
    for name in ("SIGHUP", "SIGABRT", "SIGKILL", "SIGUSR1", "SIGSEGV", "SIGTERM", "SIGXFSZ")
}


@pytest.mark.parametrize("code", CODES)
def test_an_exit_code_is_the_programs(box: Box, code: int) -> None:
    result = box.one_of(CODES, code)
    assert (result.ended, result.exit_code) == ("exited", code)


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_is_named(box: Box, name: str) -> None:
    result = box.one_of(SIGNALS, name)
    assert (result.ended, result.signal) == ("signalled", signal.Signals[name])


def test_the_signal_of_a_child_is_its_parents_to_tell(box: Box) -> None:
    assert box.shell("sh -c 'kill -9 $$'; exit $?").exit_code == 128 + 9


NO_PROGRAMS = {
    "no-such-program: No such file or directory": ("no-such-program", "x"),
    "/usr/bin/no-such-program: No such file or directory": ("/usr/bin/no-such-program",),
    "/in/data: Permission denied": ("/in/data",),
    "/usr: Permission denied": ("/usr",),
    "Argument list too long": ("echo", "x" * 200_000),
    "null byte": ("echo", "nul\0"),
    "empty": ("",),
    "no program": (),
}
NOT_RUN = {why: Job(argv, {"data": b"#!/bin/sh\n"}) for why, argv in NO_PROGRAMS.items()}


@pytest.mark.parametrize("why", NOT_RUN)
def test_what_cannot_be_run_exits_127_and_is_named(box: Box, why: str) -> None:
    result = box.one_of(NOT_RUN, why)
    assert result.exit_code == 127
    assert why in result.log.decode()
    assert b"Traceback" not in result.log


def test_arguments_arrive_as_they_are(box: Box) -> None:
    result = box.argv("printf", "<%s>", *ARGUMENTS)
    assert result.log.decode(errors="surrogateescape") == "".join(f"<{a}>" for a in ARGUMENTS)


def test_a_long_command_arrives_whole(box: Box) -> None:
    result = box.argv("sh", "-c", 'echo $# ${#1} "${13}"', "sh", *["y" * 100_000] * 12, "end")
    assert result.log == b"13 100000 end\n"


def times(box: Box) -> tuple[SandboxResult, SandboxResult]:
    return box.argv("sleep", "0.6"), box.python(BURN)


def test_the_time_of_a_run_is_the_callers_wait(box: Box) -> None:
    slept, burnt = box.once(times)
    assert 0.6 <= slept.wall_s < 10
    assert 0.4 <= burnt.wall_s < 10


def test_cpu_time_counts_children_and_not_sleep(box: Box) -> None:
    slept, burnt = box.once(times)
    assert slept.cpu_s < 0.3
    assert 0.4 <= burnt.cpu_s < 2
