"""Memory and process limits by control groups, version 1 or 2, where this process may make them."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from kernelvault.sandbox.owner import identity

ROOT = Path("/sys/fs/cgroup")
NAME = "kernelvault"
_OOM_KILLS = re.compile(rb"^oom_kill (\d{1,18})$", re.MULTILINE)
_counter = itertools.count()


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A group of its own for one sandbox: one folder in version 2, one a controller in version 1.

    `counter` is the file that counts what the kernel killed for memory.
    """

    folders: tuple[Path, ...]
    counter: Path

    def join_script(self) -> str:
        """Shell text by which a starting process puts itself into the group."""
        return "".join(f"echo $$ > {folder}/cgroup.procs || exit 1; " for folder in self.folders)

    def oom_kills(self) -> int:
        """How often the kernel killed something in the group for exceeding its memory."""
        try:
            found = _OOM_KILLS.search(self.counter.read_bytes())
        except OSError:
            return 0
        return int(found[1]) if found else 0

    def close(self) -> None:
        """Remove the group, and kill what is still in it."""
        for folder in self.folders:
            remove(folder)


def remove(folder: Path) -> bool:
    """Kill what is in a group and remove it; whether it has gone.

    The kernel refuses while a dying process is still in it, so this tries for a second.
    """
    for _ in range(50):
        try:
            folder.rmdir()
            return True
        except FileNotFoundError:
            return True
        except OSError:
            with contextlib.suppress(OSError, ValueError):
                for pid in (folder / "cgroup.procs").read_text().split():
                    if int(pid) > 0:  # 0 stands for a process that we cannot see, and kills us
                        os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.02)
    return False


Version = Literal[1, 2]


@cache
def version(root: Path = ROOT) -> Version | None:
    """The version in which this process can make a group that limits memory; None if in none.

    Found by making one, since permissions, delegation and missing controllers all can prevent it.
    """
    for candidate in (2, 1):
        try:
            make(candidate, 64 << 20, 16, root).close()
            return candidate
        except (OSError, ValueError):
            continue
    return None


def make(which: Version, memory_bytes: int, processes: int, root: Path = ROOT) -> Cgroup:
    """A new group. Raises OSError when it cannot be made, ValueError when it would not limit."""
    name = f"{identity()}-{next(_counter)}"
    return (_make_v2 if which == 2 else _make_v1)(name, memory_bytes, processes, root)


def _make_v1(name: str, memory_bytes: int, processes: int, root: Path) -> Cgroup:
    settings = {
        "memory": {
            "memory.limit_in_bytes": memory_bytes,
            "memory.memsw.limit_in_bytes": memory_bytes,
        },
        "pids": {"pids.max": processes},
    }
    made: list[Path] = []
    try:
        for controller, values in settings.items():
            if not (root / controller / "cgroup.procs").exists():
                raise ValueError(f"no {controller} controller")
            folder = root / controller / NAME / name
            folder.mkdir(parents=True)
            made.append(folder)
            for key, value in values.items():
                # Kernels without swap accounting have no limit of memory and swap together.
                if "memsw" not in key or (folder / key).exists():
                    (folder / key).write_text(str(value))
    except (OSError, ValueError):
        for folder in made:
            remove(folder)
        raise
    return Cgroup(tuple(made), made[0] / "memory.oom_control")


def _make_v2(name: str, memory_bytes: int, processes: int, root: Path) -> Cgroup:
    if not (root / "cgroup.controllers").exists():
        raise ValueError("not version 2")
    parent = root / NAME
    parent.mkdir(exist_ok=True)
    for folder in (root, parent):
        wanted = {"memory", "pids"} - set((folder / "cgroup.subtree_control").read_text().split())
        if wanted:
            text = " ".join(f"+{controller}" for controller in sorted(wanted))
            (folder / "cgroup.subtree_control").write_text(text)
    made = parent / name
    made.mkdir()
    try:
        (made / "memory.max").write_text(str(memory_bytes))
        if (made / "memory.swap.max").exists():
            (made / "memory.swap.max").write_text("0")
        (made / "pids.max").write_text(str(processes))
    except OSError:
        remove(made)
        raise
    return Cgroup((made,), made / "memory.events")


def leftovers(root: Path = ROOT) -> list[Path]:
    """Groups of ours, of any supervisor."""
    parents = (root / NAME, root / "memory" / NAME, root / "pids" / NAME)
    return [folder for parent in parents if parent.is_dir() for folder in parent.glob("*-*/")]
