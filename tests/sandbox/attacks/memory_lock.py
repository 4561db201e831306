"""Locks memory, so that the host cannot swap it out."""

import ctypes
import os
import resource

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


MiB = 1 << 20


def lock():
    block = ctypes.create_string_buffer(256 * MiB)
    checked(LIBC.mlock(block, ctypes.c_size_t(256 * MiB)))


def raise_limit():
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 40, 1 << 40))
    except ValueError as error:
        raise PermissionError(1, str(error)) from error


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("lock 256 MiB of memory", lock)
attempt("raise the limit on locked memory", raise_limit)
