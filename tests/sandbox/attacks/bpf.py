"""Loads a program into the kernel and opens its performance counters."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def make_map():
    """An array map of one element."""
    wanted = (ctypes.c_uint32 * 32)(2, 4, 4, 1)
    os.close(checked(LIBC.syscall(321, 0, wanted, ctypes.c_uint(128))))


def load_program():
    """A socket filter that returns 0."""
    code = (ctypes.c_uint64 * 2)(0xB7, 0x95)
    name = ctypes.create_string_buffer(b"GPL")
    wanted = (ctypes.c_uint64 * 16)(
        1 | 2 << 32, ctypes.addressof(code), ctypes.addressof(name), 0, 0
    )
    os.close(checked(LIBC.syscall(321, 5, wanted, ctypes.c_uint(128))))


def watch(processor):
    """Count CPU time, of this process or of a whole processor."""

    def action():
        wanted = ctypes.create_string_buffer(128)
        ctypes.memmove(wanted, (ctypes.c_uint32 * 2)(1, 128), 8)
        pid = -1 if processor >= 0 else 0
        os.close(checked(LIBC.syscall(298, wanted, pid, processor, -1, 0)))

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


attempt("a map for programs in the kernel", make_map)
attempt("a program in the kernel", load_program)
attempt("performance counters of its own", watch(-1))
attempt("performance counters of a processor", watch(0))
