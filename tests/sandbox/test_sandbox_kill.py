"""A killed supervisor takes its sandboxes with it; what it leaves is removed by the next."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import docker
import pytest

from kernelvault.sandbox import cgroup, open_sandbox
from kernelvault.sandbox.owner import identity
from kernelvault.sandbox.setup import PREFIX

ROOT = Path(__file__).parents[2]
KILLS = 6
SUPERVISOR = """
import sys
from kernelvault.sandbox import Job, Limits, open_sandbox

mark, name = sys.argv[1:]
sandbox = open_sandbox(name)
print("started", flush=True)
while True:
    script = f"(sleep 30; : {mark}) & sleep 0.2; : {mark}"
    sandbox.run(Job(("sh", "-c", script), limits=Limits(wall_s=20)))
"""


@pytest.mark.parametrize("name", ["bubblewrap", pytest.param("docker", marks=pytest.mark.slow)])
def test_a_killed_supervisor_leaves_nothing(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "docker":
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("docker_address"))
    chance = random.Random(4)
    for number in range(KILLS):
        mark = f"killed-{os.getpid()}-{number}"
        supervisor = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, mark, name], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"started\n"
        owner = identity(supervisor.pid)
        if number % 2:
            assert soon(partial(alive, set(), f": {mark}"), 20), "no task ran"
        time.sleep(chance.uniform(0, 0.5))
        inside = processes_below(supervisor.pid)
        supervisor.send_signal(signal.SIGKILL)
        supervisor.wait()
        assert soon(partial(ended, inside, mark)), f"kill {number}: {alive(inside, mark)}"
        open_sandbox(name)  # removes what was left
        assert not leftovers(owner), f"kill {number}: {leftovers(owner)}"


def ended(known: set[str], mark: str) -> bool:
    return not alive(known, mark)


def soon(holds: Callable[[], object], seconds: float = 1.0) -> bool:
    deadline = time.monotonic() + seconds
    while not (held := bool(holds())) and time.monotonic() < deadline:
        time.sleep(0.02)
    return held


def processes_below(pid: int) -> set[str]:
    """Everything below a process, by pid and start time."""
    below, found = {pid}, set[str]()
    listing = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)
    rows = [[int(word) for word in line.split()] for line in listing.stdout.splitlines()[1:]]
    while more := {own for own, parent in rows if parent in below} - below:
        below |= more
    for own in below - {pid}:
        try:
            found.add(identity(own))
        except OSError:
            continue
    return found


def alive(known: set[str], mark: str) -> list[str]:
    """The known processes that still run, and any other whose command has the mark."""
    left = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            who = identity(int(folder.name))
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if state != "Z" and (who in known or mark in command):
            left.append(f"{who} {command!r}")
    return left


def leftovers(owner: str) -> list[str]:
    """Folders, control groups and containers of a supervisor."""
    folders = [str(path) for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}{owner}*")]
    groups = [str(group) for group in cgroup.leftovers() if owner in group.name]
    if "DOCKER_HOST" not in os.environ:
        return folders + groups
    with closing(docker.from_env()) as client:
        containers = client.api.containers(all=True)
    return folders + groups + [str(c["Id"]) for c in containers if owner in str(c["Labels"])]
