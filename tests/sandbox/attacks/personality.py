"""Asks for the habits of old systems, above all a mapped page zero."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


ZERO_PAGE = 0x0100000
LIBC.mmap.restype = ctypes.c_void_p


def map_zero():
    """Page zero is where a kernel's null pointer leads."""
    flags = 0x02 | 0x10 | 0x20  # private, fixed, anonymous
    got = LIBC.mmap(None, ctypes.c_size_t(4096), 3, flags, -1, ctypes.c_long(0))
    if got != 0 and got is not None:
        raise PermissionError(1, os.strerror(ctypes.get_errno()))


def inherit_zero():
    child = os.fork()
    if child == 0:
        LIBC.personality(ctypes.c_ulong(ZERO_PAGE))
        os.execv("/bin/sh", ("sh", "-c", "! grep -q '^0*-' /proc/self/maps"))
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        raise PermissionError(1, "page zero is not mapped")


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("map page zero", map_zero)
attempt("have page zero mapped for a new program", inherit_zero)
