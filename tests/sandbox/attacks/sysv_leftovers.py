"""Leaves shared memory, a message queue and semaphores behind that outlive every process."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


KEY, CREATE = 0x6B760001, 0o1000 | 0o666
LIBC.shmat.restype = ctypes.c_void_p


def shared_memory():
    number = checked(LIBC.shmget(KEY, ctypes.c_size_t(64 << 20), CREATE))
    where = LIBC.shmat(number, None, 0)
    if where not in (None, 2**64 - 1):
        ctypes.memset(where, 1, 64 << 20)


def tried(what, action):
    try:
        action()
        print(f"contained: made {what}; the host is searched for it", flush=True)
    except OSError as error:
        print(f"contained: {what}: {error.strerror}", flush=True)


tried("shared memory", shared_memory)
tried("a message queue", lambda: checked(LIBC.msgget(KEY, CREATE)))
tried("a POSIX queue", lambda: checked(LIBC.syscall(240, b"kvattack", 0o102, 0o666, None)))
tried("semaphores", lambda: checked(LIBC.semget(KEY, 8, CREATE)))
