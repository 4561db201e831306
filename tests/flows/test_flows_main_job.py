"""The main job for real: Prefect server, Ray, sandbox, compiler, emulator, corpus, release."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.service, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def _start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kernelvault.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def _children(text: str) -> list[str]:
    """Command lines of living processes that mention `text`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # It ended meanwhile.
        if text in line:
            found.append(line)
    return found


def test_interrupt_resume_and_an_unchanged_second_run(tmp_path: Path) -> None:
    words = ("run", "--problems", "gelu_exact,add_relu_half", "--jobs", "2")
    interrupted = _start(tmp_path, *words)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("corpus/spool/*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    interrupted.send_signal(signal.SIGTERM)
    _, complaint = interrupted.communicate(timeout=60)
    assert interrupted.returncode == 130, complaint
    assert "run the same command to resume" in complaint

    first = _start(tmp_path, *words)
    shown, complaint = first.communicate(timeout=300)
    assert first.returncode == 0, complaint
    assert "known-wrong kernels that were turned down" in shown
    assert "out_of_bounds" in shown
    assert "nothing changed" not in shown

    second = _start(tmp_path, *words)
    shown, complaint = second.communicate(timeout=300)
    assert second.returncode == 0, complaint
    assert "nothing changed" in shown

    with sqlite3.connect(tmp_path / "corpus" / ".prefect" / "prefect.db") as records:
        tasks = dict(
            records.execute(
                "SELECT substr(name, 1, 6), count(*) FROM task_run "
                "WHERE state_type = 'COMPLETED' GROUP BY 1"
            )
        )
        (tables,) = records.execute(
            "SELECT count(*) FROM artifact WHERE key = 'kernels'"
        ).fetchone()
    assert tasks["genera"] >= 2, "the server keeps every task run"
    assert tables == 2
    assert _children(str(tmp_path)) == []
