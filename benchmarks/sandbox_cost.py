"""How much longer a caller waits for a job in a sandbox than for the bare process.

    python benchmarks/sandbox_cost.py [--runs N]

The job copies its input of 64 KiB to its result. Bare: a subprocess in a folder of its own, input
written and result read. Each sandbox: `Sandbox.run` of the same command. *Ready* is with a spare
sandbox started ahead, as all but the first jobs find it; *none ready* follows at once on the job
before. Runs alternate between bare and sandboxed. The CPU of a job is that of the whole machine
over a series of jobs, less what it did in the same time when idle: a docker daemon, its runtime and
the refill of the spare belong to it. So other work on the machine must be small; what it was is
printed. Needs root, bwrap and dockerd; the daemon is started here and ended.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import docker

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "tests/sandbox"))

from backends import as_user, docker_daemon

from infra.images.local_image import build_local_image
from kernelvault.sandbox import Job, Limits, Sandbox, open_sandbox, seccomp

DATA = os.urandom(1 << 16)
PAUSE_S = 1.0
COMMAND = "cat {in}/data > {out}/data"


@dataclass(frozen=True, slots=True)
class Cost:
    """Medians in milliseconds; CPU seconds of the machine by job, less the idle machine's."""

    bare: float
    ready: float
    none_ready: float
    cpu: float
    idle: float


def bare() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        (folder / "out").mkdir()
        (folder / "in/data").write_bytes(DATA)
        command = COMMAND.replace("{in}", f"{folder}/in").replace("{out}", f"{folder}/out")
        subprocess.run(["sh", "-c", command], check=True, capture_output=True, env={})
        assert (folder / "out/data").read_bytes() == DATA


def sandboxed(sandbox: Sandbox) -> None:
    script = COMMAND.replace("{in}", "/in").replace("{out}", "/out")
    job = Job(("sh", "-c", script), inputs={"data": DATA}, limits=Limits(wall_s=20))
    result = sandbox.run(job)
    assert result.ok and result.files == {"data": DATA}, result


def milliseconds(action: Callable[[], None]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1e3


def busy_s() -> float:
    """Seconds for which the machine's processors have been busy since it started."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, soft = (int(field) for field in fields[:7])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def measure(sandbox: Sandbox, runs: int) -> Cost:
    for _ in range(3):
        sandboxed(sandbox)
    pairs = []
    for _ in range(runs):
        time.sleep(PAUSE_S / 2)
        plain = milliseconds(bare)
        time.sleep(PAUSE_S / 2)
        pairs.append((plain, milliseconds(lambda: sandboxed(sandbox))))
    at_once = [milliseconds(lambda: sandboxed(sandbox)) for _ in range(runs)]
    time.sleep(PAUSE_S)
    idle = _load(lambda: time.sleep(PAUSE_S), 10)
    working = _load(lambda: (sandboxed(sandbox), time.sleep(PAUSE_S))[0], 10)
    by_job = (working[0] - idle[0] / idle[1] * working[1]) / 10
    plain, ready = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Cost(plain, ready, statistics.median(at_once), by_job, idle[0] / idle[1])


def _load(action: Callable[[], object], times: int) -> tuple[float, float]:
    """Busy seconds and wall seconds of an action repeated."""
    busy, began = busy_s(), time.perf_counter()
    for _ in range(times):
        action()
    return busy_s() - busy, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    runs = parser.parse_args().runs
    seccomp.program("default")  # loaded while every package of this environment may be read
    print(f"load average {os.getloadavg()[0]:.1f}, median of {runs}")
    print("| sandbox | bare, ms | ready, ms | longer, ms | none ready, ms | CPU a job, s | idle |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    _row("bubblewrap, root", measure(open_sandbox("bubblewrap"), runs))
    _row("bubblewrap, user", as_user(lambda: measure(open_sandbox("bubblewrap"), runs)))
    with docker_daemon() as address:
        client = docker.DockerClient(base_url=address)
        build_local_image(client)
        client.close()
        os.environ["DOCKER_HOST"] = address
        _row("docker", measure(open_sandbox("docker"), runs))


def _row(name: str, cost: Cost) -> None:
    print(
        f"| {name} | {cost.bare:.1f} | {cost.ready:.1f} | {cost.ready - cost.bare:.1f} "
        f"| {cost.none_ready:.1f} | {cost.cpu:.3f} | {cost.idle:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
