"""Reads secrets: files, environments of other processes, memory devices."""

import glob
import json
import os

IN = os.environ.get("KERNELVAULT_IN", "/in")
with open(IN + "/host.json") as facts:
    HOST = json.load(facts)
MARK = b"kernelvault-" + b"secret-"
FILES = (
    "/etc/shadow",
    "/etc/passwd",
    "/proc/kcore",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/vda",
    "/dev/sda",
    "/dev/nvme0n1",
    "/var/log/dpkg.log",
    "/root/.bashrc",
    "/root/.ssh/id_rsa",
    "/run/docker.sock",
    HOST["secret_file"],
    *HOST["watched"],
)


def read(path):
    def action():
        # Not through the page cache of this process: one read is proof enough.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        data = os.read(file, 4096)
        os.close(file)
        if not data:
            raise FileNotFoundError(2, "empty")

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


for path in FILES:
    attempt(f"read {path}", read(path))
found = 0
for pattern in ("environ", "cmdline"):
    for path in glob.glob(f"/proc/[0-9]*/{pattern}"):
        try:
            with open(path, "rb") as file:
                found += MARK in file.read() or HOST["secret_file"].encode() in file.read()
        except OSError:
            continue
if found or any(MARK.decode() in value for value in os.environ.values()):
    print("ESCAPED: the secret is in an environment that can be read", flush=True)
