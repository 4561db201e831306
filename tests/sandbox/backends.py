"""The sandboxes that the tests run against, each behind the same `run` and `warm`."""

from __future__ import annotations

import ctypes  # now: an ordinary user may not be able to read it
import os
import pickle
import shutil
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kernelvault.sandbox import (
    Capabilities,
    Job,
    Sandbox,
    SandboxResult,
    WarmJob,
    WarmSandbox,
    cgroup,
    open_sandbox,
    seccomp,
)

NAMES = ("bubblewrap-root", "bubblewrap-user", "docker")
USER = 54321
T = TypeVar("T")


def as_user(action: Callable[[], T]) -> T:
    """Do it in a fork that has become an ordinary user, with no way back to root."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            # Changing users hides /proc/self/* from us, which starting a program makes undone;
            # a user namespace cannot be set up meanwhile.
            _make_dumpable()
            cgroup.version.cache_clear()
            answer: tuple[bool, Any] = (True, action())
        except BaseException as error:  # noqa: BLE001  (raised again on the other side)
            traceback.print_exc()
            answer = (False, error)
        with os.fdopen(theirs, "wb") as file:
            file.write(pickle.dumps(answer))
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    done, value = pickle.loads(data)
    if not done:
        raise value
    return value


def _make_dumpable() -> None:
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)


class AsUser:
    """Bubblewrap as an ordinary user uses it."""

    name = "bubblewrap"

    def __init__(self) -> None:
        # Loaded while we may still read every package of this environment.
        seccomp.program("default")
        seccomp.program("sanitizer")

    def capabilities(self) -> Capabilities:
        return as_user(lambda: open_sandbox("bubblewrap").capabilities())

    def run(self, job: Job) -> SandboxResult:
        return as_user(lambda: open_sandbox("bubblewrap").run(job))

    def warm(self, job: WarmJob) -> WarmSandbox:
        raise NotImplementedError("a fork cannot hand over a sandbox that stays")


@contextmanager
def docker_daemon() -> Iterator[str]:
    """The address of a docker daemon of our own, without network; gone afterwards."""
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        pytest.skip("needs root and dockerd (apt-get install docker.io)")
    folder = Path(tempfile.mkdtemp(prefix="kvd-"))
    address = f"unix://{folder}/docker.sock"
    options = (
        "--bridge=none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false "
        "--userland-proxy=false --exec-opt native.cgroupdriver=cgroupfs"
    )
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(
            [
                *("dockerd", "--host", address, "--data-root", str(folder / "data")),
                *("--exec-root", str(folder / "exec"), "--pidfile", str(folder / "pid")),
                *options.split(),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            _wait_for(daemon, address, folder / "log")
            yield address
        finally:
            _remove_containers(address)  # for which the daemon would wait ten seconds
            daemon.terminate()
            daemon.wait(timeout=30)
            for mount in sorted(_mounts_below(folder), reverse=True):
                subprocess.run(["umount", "-l", mount], check=False)
            shutil.rmtree(folder, ignore_errors=True)


def _wait_for(daemon: subprocess.Popen[bytes], address: str, log: Path) -> None:
    import docker

    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and daemon.poll() is None:
        try:
            with closing(docker.DockerClient(base_url=address, timeout=5)) as client:
                client.ping()
                return
        except docker.errors.DockerException:
            time.sleep(0.1)
    raise RuntimeError(f"dockerd did not come up: {log.read_text()[-2000:]}")


def _remove_containers(address: str) -> None:
    import docker

    with closing(docker.DockerClient(base_url=address, timeout=30)) as client:
        for container in client.api.containers(all=True):
            # Its sandbox may be removing it as well.
            with suppress(docker.errors.DockerException, OSError):
                client.api.remove_container(container["Id"], force=True)


def _mounts_below(folder: Path) -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line.split()[1] for line in lines if line.split()[1].startswith(f"{folder}/")]


def opened(name: str, address: str | None = None) -> Sandbox:
    """The sandbox of that name; docker by the daemon at `address`."""
    if name == "bubblewrap-root":
        if os.geteuid() != 0:
            pytest.skip("needs root")
        return open_sandbox("bubblewrap")
    if name == "bubblewrap-user":
        return AsUser() if os.geteuid() == 0 else open_sandbox("bubblewrap")
    assert address is not None
    os.environ["DOCKER_HOST"] = address
    return open_sandbox("docker")
