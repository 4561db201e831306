"""Writes programs, libraries and inputs that others will use."""

import glob
import json
import os

IN = os.environ.get("KERNELVAULT_IN", "/in")
with open(IN + "/host.json") as facts:
    HOST = json.load(facts)
FOLDERS = (
    IN, "/usr", "/usr/bin", "/usr/local/lib", "/etc", "/etc/alternatives", "/", "/dev", "/home",
    "/root", "/var/tmp", "/run", "/lib", "/proc/1", "/sys/fs/cgroup",
    *glob.glob("/usr/lib/python3*/site-packages"), *glob.glob("/usr/lib/python3*"),
    *HOST["watched_folders"],
)  # fmt: skip


def leave(folder):
    def action():
        with open(folder + "/kvattack.py", "w") as file:
            file.write("x")

    return action


def overwrite(path):
    return lambda: os.close(os.open(path, os.O_WRONLY))


def lift(path):
    def action():
        os.chmod(path, 0o777)

    return action


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


for folder in dict.fromkeys(FOLDERS):
    attempt(f"write into {folder}", leave(folder))
for path in (
    IN + "/host.json",
    "/usr/bin/env",
    "/etc/ld.so.cache",
    "/proc/1/exe",
    "/proc/self/exe",
):
    attempt(f"overwrite {path}", overwrite(path))
    attempt(f"change the mode of {path}", lift(path))
for path in HOST["watched"]:
    attempt(f"overwrite {path}", overwrite(path))
