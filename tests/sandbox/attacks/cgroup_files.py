"""Leaves its control groups, or has one start a program on the host."""

import glob
import os

FOLDERS = (
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/memory",
    "/sys/fs/cgroup/pids",
    "/sys/fs/cgroup/unified",
)


def make(folder):
    def action():
        os.mkdir(folder + "/kvattack")
        os.rmdir(folder + "/kvattack")

    return action


def opened(path):
    return lambda: os.close(os.open(path, os.O_WRONLY))


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


for folder in FOLDERS:
    attempt(f"make a group in {folder}", make(folder))
    for name in ("cgroup.procs", "release_agent"):
        attempt(f"open {folder}/{name} for writing", opened(f"{folder}/{name}"))
for path in glob.glob("/sys/fs/cgroup/**/memory.limit_in_bytes", recursive=True)[:5]:
    attempt(f"open {path} for writing", opened(path))
