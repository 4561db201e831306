"""Killed at random moments and resumed, a run ends with the corpus of an undisturbed one."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kernelvault.store import Corpus

pytestmark = [pytest.mark.service, pytest.mark.slow]

PROBLEMS = "gelu_exact,softmax_last_dim,cumulative_sum"
SEED = 20_261_201


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "kernelvault.cli", "run", "--problems", PROBLEMS]
    command += ["--corpus", str(folder / "corpus"), "--releases", str(folder / "releases")]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def content(folder: Path) -> dict[str, Any]:
    """Ids and verdicts, and what the release says of itself."""
    with Corpus(folder / "corpus").connection() as connection:

        def rows(sql: str) -> list[Any]:
            return connection.execute(sql).fetchall()

        found = {
            "candidates": rows("SELECT candidate_id FROM candidates ORDER BY ALL"),
            "attempts": rows("SELECT attempt_id, candidate_id, status FROM attempts ORDER BY ALL"),
            "verdicts": rows(
                "SELECT verification_id, gate, outcome, reason FROM verdicts ORDER BY ALL"
            ),
        }
    manifest = next((folder / "releases").glob("*/manifest.json"))
    found["release"] = json.loads(manifest.read_text())["content_sha256"]
    return found


def processes_of(folder: Path) -> list[int]:
    """Processes that still name the folder in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue  # it ended while we looked
    return [pid for pid in found if pid != os.getpid()]


def test_three_kills_change_nothing(tmp_path: Path) -> None:
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    assert start(calm).wait(300) == 0
    moments = random.Random(SEED)
    for _ in range(3):
        run = start(disturbed)
        time.sleep(moments.uniform(8, 25))
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    assert start(disturbed).wait(300) == 0
    assert content(disturbed) == content(calm)
    assert len(content(calm)["candidates"]) > 8
    deadline = time.monotonic() + 20
    while processes_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert processes_of(tmp_path) == []
