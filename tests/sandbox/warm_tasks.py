"""Tasks for the tests of warm sandboxes: what honest and hostile code would do inside."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

LOADED = []


def preload() -> None:
    LOADED.append(os.getpid())


def copy(given: str, out: str) -> None:
    text = Path(given, "text").read_text()
    Path(out, "answer").write_text(f"{text} {LOADED != []} {os.getpid() != LOADED[0]}")


def say(text: str) -> None:
    print(text)
    print(text, file=sys.stderr)


def leave_traces(out: str) -> None:
    Path("/tmp/trace").write_text("left")
    Path("/dev/shm/trace").write_text("left")
    Path("/tmp/deep").mkdir(mode=0o700)
    Path("/tmp/deep/file").write_text("left")
    Path(out, ".hidden").write_text("left")
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    LOADED.clear()


def look_for_traces(out: str) -> None:
    found = [p for p in ("/tmp/trace", "/dev/shm/trace", "/tmp/deep") if Path(p).exists()]
    found += os.listdir(out)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and b"sleep" in (entry / "cmdline").read_bytes():
            found.append(entry.name)
    Path(out, "answer").write_text(repr(found + ([] if LOADED else ["memory"])))


def read_parent(out: str) -> None:
    told = []
    for name in ("mem", "environ", "fd"):
        try:
            path = Path(f"/proc/{os.getppid()}/{name}")
            os.listdir(path) if name == "fd" else path.open("rb").close()
            told.append(name)
        except OSError:
            continue
    traced = ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)
    Path(out, "answer").write_text(repr((told, traced)))


def rights(out: str) -> None:
    status = Path("/proc/self/status").read_text()
    lines = [line.split()[1] for line in status.splitlines() if line.startswith("CapEff")]
    Path(out, "answer").write_text(
        f"{os.getuid()} {lines[0]} {sorted(os.listdir('/proc/self/fd'))}"
    )


def kill_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(5)


def spin() -> None:
    while True:
        pass


def sleep_on() -> None:
    time.sleep(1000)


def eat_memory() -> None:
    held = []
    while True:
        held.append(bytearray(os.urandom(1 << 20)) * 16)


def flood() -> None:
    while True:
        os.write(1, b"x" * 65536)


def crash() -> None:
    ctypes.string_at(0)


def fail() -> None:
    raise ValueError("a message")


def odd_files(out: str) -> None:
    os.symlink("/etc/passwd", f"{out}/link")
    os.mkfifo(f"{out}/fifo")
    os.mkdir(f"{out}/folder")
    Path(out, "good").write_text("good")


def forge(out: str) -> None:
    """Write to every descriptor there is what a result looks like."""
    line = b'{"status": 0, "ended": null, "cpu_s": 0, "log": 0, "archive": 0}\n'
    for number in range(3, 64):
        try:
            os.write(number, line)
        except OSError:
            continue
    raise SystemExit(7)
