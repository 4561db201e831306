"""Reads and overwrites the memory of other processes, read-only pages included."""

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


class Range(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


def code_address(pid):
    """Where the first read-only executable page of a process lies."""
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            if " r-xp " in line:
                return int(line.split("-")[0], 16)
    raise FileNotFoundError(2, "no code")


def through_file(pid):
    """Write the bytes that a read-only page already has, so that nothing breaks."""

    def action():
        address = code_address(pid)
        file = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        os.pwrite(file, os.pread(file, 8, address), address)
        os.close(file)

    return action


def through_call(pid):
    def action():
        address = code_address(pid)
        buffer = ctypes.create_string_buffer(8)
        here = Range(ctypes.addressof(buffer), 8)
        there = Range(address, 8)
        checked(
            LIBC.process_vm_readv(
                pid, ctypes.byref(here), 1, ctypes.byref(there), 1, ctypes.c_ulong(0)
            )
        )

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


victims = [("a process of the host", HOST["bystander"])]
if HOST["relatives"]:
    relatives = {1: "pid 1", os.getppid(): "the parent"}
    victims += [(name, pid) for pid, name in relatives.items() if pid not in (0, os.getpid())]
for name, pid in victims:
    attempt(f"overwrite code of {name} through /proc/PID/mem", through_file(pid))
    attempt(f"read memory of {name} with process_vm_readv", through_call(pid))
