"""Runs every test that needs no GPU and adds a dated line to docs/test-report.md."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

REPORT = Path(__file__).parents[1] / "docs" / "test-report.md"
HEAD = """# Test report

One line for each complete run of `make test-full`, newest last.

| date (UTC) | commit | machine | result | seconds |
|---|---|---|---|---|
"""


def main() -> int:
    """Run pytest, show its output, write the line; the exit code is pytest's."""
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", "not gpu"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    last = ""
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        if re.search(r"\d+ (passed|failed|error)", line):
            last = line.strip().strip("=").strip()
    code = process.wait()
    seconds = round(time.monotonic() - started)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    result = re.sub(r" in [\d.:]+.*", "", last) or f"exit {code}"
    machine = f"{os.cpu_count()} cores, {platform.machine()}, no GPU"
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    text = REPORT.read_text() if REPORT.exists() else HEAD
    REPORT.write_text(text + f"| {now} | {commit or '-'} | {machine} | {result} | {seconds} |\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
