"""Uses the kernel's key rings, which are not divided between sandboxes of one user."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


THREAD, USER_RING, SESSION = -1, -4, -3


def add(ring):
    return lambda: (checked(LIBC.syscall(248, b"user", b"kvattack", b"x", 1, ring)), None)[1]


def join():
    checked(LIBC.syscall(250, 1, b"kvattack"))


def describe(ring):
    return lambda: (checked(LIBC.syscall(250, 6, ring, None, 0)), None)[1]


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("add a key to its thread", add(THREAD))
attempt("join a session of keys", join)
attempt("describe the user's keys", describe(USER_RING))
attempt("describe the session's keys", describe(SESSION))
