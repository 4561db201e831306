"""What a payload can see, do and use inside the sandbox."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from kernelvault.errors import ConfigError
from kernelvault.sandbox import Job, Limits, Sandbox, SandboxResult, open_sandbox
from kernelvault.sandbox.owner import identity
from kernelvault.sandbox.setup import PREFIX

MiB = 1 << 20


@pytest.fixture(scope="module", params=["bubblewrap", "subprocess"])
def any_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return open_sandbox(request.param)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox("bubblewrap")


def shell(sandbox: Sandbox, script: str, **changes: object) -> SandboxResult:
    limits = Limits(**{"wall_s": 10.0, "cpu_s": 5, **changes})  # type: ignore[arg-type]
    return sandbox.run(Job(("/bin/sh", "-c", script), limits=limits))


def test_results_log_and_exit_code(any_sandbox: Sandbox) -> None:
    job = Job(
        ("/bin/sh", "-c", 'cat "$1" > "$2"; echo naïve ✓ >&2; exit 3', "sh", "/in/a", "/out/b"),
        {"a": b"data"},
        limits=Limits(wall_s=10),
    )
    result = any_sandbox.run(job)
    assert (result.ended, result.exit_code, result.ok) == ("exited", 3, False)
    assert result.files == {"b": b"data"}
    assert "naïve ✓" in result.log.decode()


def test_signals_and_time_limits(any_sandbox: Sandbox) -> None:
    assert shell(any_sandbox, "kill -11 $$").signal == signal.SIGSEGV
    assert shell(any_sandbox, "sleep 30", wall_s=0.5).ended == "timeout"
    assert shell(any_sandbox, "while :; do :; done", cpu_s=1).ended == "cpu_limit"


def test_floods_are_capped(any_sandbox: Sandbox) -> None:
    flood = shell(any_sandbox, "yes")
    assert flood.ended == "log_limit"
    assert len(flood.log) <= Limits().log_bytes


def test_processes_are_limited(sandbox: Sandbox) -> None:
    started = time.monotonic()
    result = shell(sandbox, "f() { f | f & }; f; sleep 1", wall_s=5, processes=32)
    assert time.monotonic() - started < 10
    assert result.ended in ("exited", "timeout", "log_limit", "signalled", "cpu_limit")


def test_the_environment_stays_outside(sandbox: Sandbox) -> None:
    os.environ["KERNELVAULT_TEST_SECRET"] = "hunter2"
    try:
        log = shell(sandbox, "env; cat /proc/self/environ /proc/1/cmdline").log
    finally:
        del os.environ["KERNELVAULT_TEST_SECRET"]
    assert b"hunter2" not in log
    assert str(Path.home()).encode() not in log


@pytest.mark.parametrize(
    "script",
    [
        "cat /etc/passwd",
        "cat /etc/shadow",
        "ls /root/.bashrc /home /work",
        f"cat {Path(__file__)}",
        "echo x > /usr/x",
        "echo x > /in/x",
        "echo x > /etc/x",
        "mount -t tmpfs none /tmp",
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', 22), 1)\"",
        "kill -9 1 2>/dev/null; test -e /proc/2000000",
        "mknod /tmp/sda b 8 0",
    ],
)
def test_the_host_is_out_of_reach(sandbox: Sandbox, script: str) -> None:
    assert not shell(sandbox, script).ok


def test_a_payload_cannot_pose_as_a_broken_sandbox(sandbox: Sandbox) -> None:
    result = shell(sandbox, "echo 'bwrap: no luck'; exit 1")
    assert (result.ended, result.exit_code) == ("exited", 1)


def folders() -> set[Path]:
    """What this process has for its sandboxes."""
    return set(Path(tempfile.gettempdir()).glob(f"{PREFIX}{identity()}-*"))


def test_many_at_once_and_nothing_left(sandbox: Sandbox) -> None:
    before = folders()
    results: list[SandboxResult] = []

    def one(index: int) -> None:
        results.append(shell(sandbox, f"echo {index} > /out/n"))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(r.files["n"]) for r in results) == list(range(8))
    deadline = time.monotonic() + 5  # used sandboxes are ended behind their callers' backs
    while len(left := folders() - before) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(left) <= 1  # the next spare one


def test_unknown_backends_are_named() -> None:
    with pytest.raises(ConfigError, match="auto, bubblewrap, docker, subprocess, disposable-host"):
        open_sandbox("nosuch")


def test_a_missing_bubblewrap_names_the_ways_out() -> None:
    code = (
        "from kernelvault.sandbox import open_sandbox\n"
        "from kernelvault.errors import SandboxUnavailable\n"
        "try: open_sandbox('bubblewrap')\n"
        "except SandboxUnavailable as error: print(error)"
    )
    env = {**os.environ, "PATH": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
    )
    assert "apt-get install bubblewrap" in done.stdout
    assert "--sandbox docker" in done.stdout
    assert "subprocess" not in done.stdout  # never offered as a way out
