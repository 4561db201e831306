"""Memory and process limits: a cgroup where we may make one, else polling the tree's memory."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

from kernelvault.sandbox.contract import Limits

_V1 = Path("/sys/fs/cgroup/memory")
_counter = itertools.count()


def tree_memory(pid: int) -> int:
    """Resident bytes of a process and its descendants.

    Daemons stay descendants, because the init of a pid namespace adopts them. Pages that processes
    share are counted once for each: the figure errs towards stopping early.
    """
    page = os.sysconf("SC_PAGESIZE")
    total, todo = 0, [pid]
    while todo:
        folder = Path(f"/proc/{todo.pop()}")
        try:
            total += int((folder / "statm").read_text().split()[1]) * page
            for thread in (folder / "task").iterdir():
                todo.extend(map(int, (thread / "children").read_text().split()))
        except (OSError, ValueError):
            continue  # the process ended while we looked
    return total


class Cgroup:
    """Version 1 memory and pids groups made by hand; `active` is False when they cannot be made."""

    def __init__(self, limits: Limits) -> None:
        self._folders: list[Path] = []
        name = f"{os.getpid()}-{next(_counter)}"
        settings = {
            "memory": {
                "memory.limit_in_bytes": limits.memory_bytes,
                "memory.memsw.limit_in_bytes": limits.memory_bytes,
            },
            "pids": {"pids.max": limits.processes},
        }
        try:
            for controller, values in settings.items():
                folder = Path("/sys/fs/cgroup") / controller / "kernelvault" / name
                folder.mkdir(parents=True)
                self._folders.append(folder)
                for key, value in values.items():
                    if (folder / key).exists():
                        (folder / key).write_text(str(value))
        except OSError:
            self.close()

    @classmethod
    def possible(cls) -> bool:
        """Whether this process may make such groups."""
        return os.geteuid() == 0 and _V1.is_dir() and os.access(_V1, os.W_OK)

    @property
    def active(self) -> bool:
        return bool(self._folders)

    def join_script(self) -> str:
        """Shell text by which a starting process puts itself into the groups."""
        return "".join(f"echo $$ > {folder}/cgroup.procs || exit 1; " for folder in self._folders)

    def out_of_memory(self) -> bool:
        """Whether the kernel killed something for exceeding the limit."""
        if not self._folders:
            return False
        try:
            lines = (self._folders[0] / "memory.oom_control").read_text().splitlines()
        except OSError:
            return False
        return any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in lines)

    def close(self) -> None:
        """Remove the groups; the kernel refuses while a dying process is still in them."""
        for folder in self._folders:
            for _ in range(50):
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.02)
        self._folders = []
