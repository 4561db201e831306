"""Leaves files in /dev/shm and /tmp for whoever comes next, and looks for those of others."""

import json
import os

IN = os.environ.get("KERNELVAULT_IN", "/in")
with open(IN + "/host.json") as facts:
    HOST = json.load(facts)


def see(path):
    def action():
        if not os.listdir(path):
            raise FileNotFoundError(2, "empty")

    return action


def leave(path):
    try:
        with open(path, "w") as file:
            file.write("kvattack")
        print(f"contained: wrote {path}; the host is searched for it", flush=True)
    except OSError as error:
        print(f"contained: {path}: {error.strerror}", flush=True)


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("see a file in the host's /tmp", lambda: os.close(os.open(HOST["tmp_file"], os.O_RDONLY)))
attempt("see files of others in /dev/shm", see("/dev/shm"))
leave("/dev/shm/kvattack-left")
leave("/tmp/kvattack-left")
leave("/dev/mqueue/kvattack-left")
