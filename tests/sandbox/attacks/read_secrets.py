"""Reads secrets: files, environments of other processes, memory devices."""

import glob
import json
import os

IN = os.environ.get("KERNELVAULT_IN", "/in")
with open(IN + "/host.json") as facts:
    HOST = json.load(facts)
OUT = os.environ.get("KERNELVAULT_OUT", "/out")
MARK = b"kernelvault-" + b"secret-"
FILES = (
    "/etc/shadow",
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
for name in ("passwd", "shadow"):
    # An image may have files of these names: whether they are the host's is seen from there.
    try:
        with open(f"/etc/{name}", "rb") as file, open(f"{OUT}/{name}", "wb") as copy:
            copy.write(file.read())
    except OSError:
        continue
found = 0
for pattern in ("environ", "cmdline"):
    for path in glob.glob(f"/proc/[0-9]*/{pattern}"):
        try:
            with open(path, "rb") as file:
                text = file.read()
                found += MARK in text or HOST["secret_file"].encode() in text
        except OSError:
            continue
if found or any(MARK.decode() in value for value in os.environ.values()):
    print("ESCAPED: the secret is in an environment that can be read", flush=True)
