"""Reads the kernel's log and its addresses."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def log():
    buffer = ctypes.create_string_buffer(4096)
    if checked(LIBC.klogctl(3, buffer, 4096)) == 0:
        raise PermissionError(1, "empty")


def read(path):
    def action():
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        data = os.read(file, 4096)
        os.close(file)
        if not data:
            raise PermissionError(1, "empty")
        return data

    return action


def addresses():
    """Real ones: without the right to see them, every symbol reads as 0."""
    if not any(int(line.split()[0], 16) for line in read("/proc/kallsyms")().splitlines()[:5]):
        raise PermissionError(1, "hidden")


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("read the log by syslog", log)
for path in ("/proc/kmsg", "/dev/kmsg"):
    attempt(f"read {path}", read(path))
attempt("read addresses in the kernel", addresses)
