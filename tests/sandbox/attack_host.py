"""This machine as an attack on the sandbox finds it, and whether it is the same afterwards."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TAG = "KERNELVAULT_ATTACK_TAG"
SECRET = "KERNELVAULT_ATTACK_SECRET"
# What every attack calls the things it makes, so that other programs' are not taken for them.
MARK = "kvattack"
SYSV_KEY = 0x6B760001
PLACES = ("/dev/shm", "/tmp", "/var/tmp", "/etc", "/etc/alternatives", "/usr", "/usr/bin",
          "/usr/lib", "/usr/local/lib", "/", "/root", "/home", "/run", "/dev", "/dev/mqueue",
          "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids")  # fmt: skip
SETTINGS = ("/etc/passwd", "/etc/shadow", "/etc/ld.so.cache", "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/hostname")  # fmt: skip


@dataclass(slots=True)
class Host:
    """Things on this machine that an attack may go for, and the addresses it is told."""

    folder: Path
    secret: str
    secret_file: Path
    tmp_file: Path
    watched: tuple[Path, ...]
    listener: socket.socket
    abstract: socket.socket
    bystander: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.bystander = subprocess.Popen(["sleep", "3600"])

    def facts(self, relatives: bool = True) -> bytes:
        """What a script reads from `host.json`; the secret itself is not among it.

        `relatives`: whether to attack the script's own parent and pid 1.
        """
        told = {
            "port": self.listener.getsockname()[1],
            "abstract": self.abstract.getsockname()[1:].decode(),
            "bystander": self.bystander.pid,
            "relatives": relatives,
            "secret_file": str(self.secret_file),
            "tmp_file": str(self.tmp_file),
            "watched": [str(path) for path in self.watched],
            "watched_folders": sorted({str(path.parent) for path in self.watched}),
        }
        return json.dumps(told).encode()

    def places(self) -> Iterator[Path]:
        """Folders in which an attack may leave something."""
        yield from map(Path, PLACES)
        yield from {path.parent for path in self.watched}
        yield Path.cwd()

    def renew_bystander(self) -> bool:
        """Whether the bystander was harmed; if so there is a new one."""
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{self.bystander.pid}/stat").read_text().rpartition(")")[2].split()
            if self.bystander.poll() is None and state[0] in "SDR":
                return False
        self.bystander.kill()
        self.bystander.wait()
        self.bystander = subprocess.Popen(["sleep", "3600"])
        return True


@contextlib.contextmanager
def open_host(folder: Path) -> Iterator[Host]:
    """A host with a secret in `folder` and in the environment, two listeners and a bystander."""
    secret = "kernelvault-secret-" + secrets.token_hex(8)
    secret_file, watched = folder / "secret", folder / "watched"
    secret_file.write_text(secret)
    secret_file.chmod(0o600)
    watched.write_text("as it was")
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0kernelvault-host-" + secrets.token_hex(8))
    abstract.listen(5)
    old = os.environ.get(SECRET)
    os.environ[SECRET] = secret
    with (
        tempfile.NamedTemporaryFile(prefix="kernelvault-bait-") as bait,
        socket.create_server(("127.0.0.1", 0)) as listener,
        abstract,
    ):
        files = (watched, Path(__file__).parents[2] / "pyproject.toml")
        host = Host(folder, secret, secret_file, Path(bait.name), files, listener, abstract)
        for server in (listener, abstract):
            threading.Thread(target=_greet, args=(server,), daemon=True).start()
        try:
            yield host
        finally:
            host.bystander.kill()
            host.bystander.wait()
            os.environ.pop(SECRET)
            if old is not None:
                os.environ[SECRET] = old


def _greet(server: socket.socket) -> None:
    while True:
        try:
            peer, _ = server.accept()
        except OSError:
            return  # closed: the suite has ended
        with contextlib.suppress(OSError), peer:
            peer.send(b"hello from the host")


@dataclass(frozen=True, slots=True)
class State:
    """What must be the same after an attack."""

    files: Mapping[str, str]
    left: frozenset[str]
    drift_s: float


def state_of(host: Host) -> State:
    files = {str(path): _digest(Path(path)) for path in (*SETTINGS, *host.watched)}
    return State(files, frozenset(_left_behind(host)), time.time() - time.monotonic())


def _digest(path: Path) -> str:
    try:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        return f"{content} {path.stat().st_mode:o}"
    except OSError as error:
        return str(error)


def _left_behind(host: Host) -> Iterator[str]:
    for place in host.places():
        with contextlib.suppress(OSError):
            yield from (str(path) for path in place.iterdir() if MARK in path.name)
    for line in Path("/proc/net/unix").read_text().splitlines():
        if "@" + MARK in line:
            yield "abstract socket " + line.split()[-1]
    for kind in ("shm", "msg", "sem"):
        for line in Path("/proc/sysvipc", kind).read_text().splitlines()[1:]:
            if int(line.split()[0]) == SYSV_KEY:
                yield f"System V {kind}"


def _clean(left: Iterable[str]) -> None:
    """Remove what an attack left, for the sake of the next."""
    for item in left:
        path = Path(item)
        if item.startswith("System V"):
            option = {"shm": "-M", "msg": "-Q", "sem": "-S"}[item.split()[-1]]
            subprocess.run(["ipcrm", option, str(SYSV_KEY)], check=False)
        elif path.is_absolute():
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()


def _tagged(tag: str) -> list[int]:
    """Processes whose environment holds `tag`: those that an attack started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{TAG}={tag}\0".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def _leftover_processes(tag: str) -> list[int]:
    """Those still there a second later: ending a namespace takes a moment."""
    deadline = time.monotonic() + 1
    while (found := _tagged(tag)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


class MemoryWatch:
    """The most that this machine's memory in use grew, sampled every 10 ms."""

    def __enter__(self) -> MemoryWatch:
        self._start = self._least = _available()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(0.01):
            self._least = min(self._least, _available())

    @property
    def growth(self) -> int:
        return self._start - self._least


def _available() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    raise RuntimeError("/proc/meminfo names no MemAvailable")


def host_damage(host: Host, before: State, tag: str) -> list[str]:
    damage = []
    if processes := _leftover_processes(tag):
        damage.append("left processes behind")
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    if host.renew_bystander():
        damage.append("harmed a process of the host")
    after = state_of(host)
    # Sockets have names of their own, since another run at the same time may have some open.
    found = sorted(after.left - before.left)
    new = [item for item in found if tag in item or not item.startswith("abstract")]
    damage += [f"left {item}" for item in new]
    _clean(new)
    damage += [f"changed {path}" for path, was in before.files.items() if after.files[path] != was]
    if abs(after.drift_s - before.drift_s) > 0.5:
        damage.append("changed the clock")
        time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + before.drift_s)
    return damage
