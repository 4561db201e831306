"""Traces and kills processes: siblings, the init of the sandbox, one of the host."""

import ctypes
import json
import os

IN = os.environ.get("KERNELVAULT_IN", "/in")
with open(IN + "/host.json") as facts:
    HOST = json.load(facts)
LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


ATTACH, DETACH = 16, 17


def trace(pid):
    def action():
        checked(LIBC.ptrace(ATTACH, pid, None, None))
        os.waitpid(pid, 0x40000000)
        LIBC.ptrace(DETACH, pid, None, None)

    return action


def kill():
    os.kill(HOST["bystander"], 9)


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


for pid in {1, os.getppid()} - {0, os.getpid()} if HOST["relatives"] else ():
    attempt("trace pid 1" if pid == 1 else "trace the parent", trace(pid))
attempt("trace a process of the host", trace(HOST["bystander"]))
attempt("kill a process of the host", kill)
