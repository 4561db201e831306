"""The peer of the Triton compile gate: `triton.compile` alone, in a process that is warm too.

Reads lines `ARCH JOB_FOLDER` on stdin. For each, a fork first runs the candidate under the
recording driver to learn what is compiled, then empties the cache and times bare `triton.compile`
calls with the very same sources, targets and options. Writes `CPU_SECONDS WALL_SECONDS CALLS` for
each line.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import triton
from triton.compiler import compiler

from kernelvault.toolchains.triton.inside import compile_task, device, driver

Captured = list[tuple[Any, dict[str, Any]]]


def capture(arch: str, folder: Path) -> Captured:
    """The arguments of every `triton.compile` that the candidate's launches cause."""
    calls: Captured = []
    bare = compiler.compile

    def recorded(src: Any, **kwargs: Any) -> Any:
        calls.append((src, kwargs))
        return bare(src, **kwargs)

    compiler.compile = recorded
    triton.compiler.compile = recorded
    job = json.loads((folder / "job.json").read_text())
    recorder, paused = driver.Recorder(), device.Paused()
    device.install(arch)
    driver.install(arch, recorder, paused)
    with device.DeviceMode("meta", paused):
        compile_task.run_all(str(folder / "candidate.py"), job, recorder, contextlib.nullcontext)
    compiler.compile = bare
    return calls


def timed(arch: str, folder: Path) -> str:
    """Times of bare compilations from an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        triton.knobs.cache.dir = f"{cache}/first"
        calls = capture(arch, folder)
        triton.knobs.cache.dir = f"{cache}/second"
        cpu, wall = time.process_time(), time.perf_counter()
        for source, kwargs in calls:
            compiler.compile(source, **kwargs)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return f"{cpu:.6f} {wall:.6f} {len(calls)}\n"


def main() -> None:
    """Serve lines until stdin ends."""
    compile_task.preload()
    answers = os.dup(1)
    os.dup2(2, 1)
    os.write(answers, b"ready\n")
    for line in sys.stdin:
        arch, folder = line.split()
        child = os.fork()
        if child == 0:
            os.write(answers, timed(arch, Path(folder)).encode())
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
