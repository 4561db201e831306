"""Opens a userfaultfd, the stopwatch of many exploits of the kernel."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def by_call(flags):
    return lambda: os.close(checked(LIBC.syscall(323, flags)))


def by_device():
    os.close(os.open("/dev/userfaultfd", os.O_RDWR))


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("a userfaultfd for the kernel's faults too", by_call(0))
attempt("a userfaultfd for its own faults", by_call(1))
attempt("the userfaultfd device", by_device)
