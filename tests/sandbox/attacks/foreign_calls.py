"""Makes system calls of the 32-bit and x32 kinds, which have other numbers."""

import ctypes
import mmap
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


USER = 0x10000000
# push rbx; mov eax, edi; mov ebx, esi; mov ecx, edx; int 0x80; pop rbx; ret
CODE = bytes.fromhex("5389f889f389d1cd805bc3")


def through_interrupt(number, first, second=0):
    """A 32-bit call from 64-bit code."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(CODE)
    where = ctypes.addressof(ctypes.c_char.from_buffer(page))
    made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)(where)
    result = made(number, first, second)
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def in_child(what, action):
    """In a process of its own: a kernel without 32-bit calls ends it with a signal."""
    child = os.fork()
    if child == 0:
        attempt(what, action)
        os._exit(0)
    number = os.WTERMSIG(os.waitpid(child, 0)[1])
    if number:
        print(f"contained: {what}: ended by signal {number}", flush=True)


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


in_child("any 32-bit call (getpid)", lambda: through_interrupt(20, 0))
in_child("a user namespace by a 32-bit call", lambda: through_interrupt(310, USER))
in_child("an x32 call (getpid)", lambda: (checked(LIBC.syscall(0x40000000 + 39)), None)[1])
in_child("a user namespace by an x32 call", lambda: checked(LIBC.syscall(0x40000000 + 272, USER)))
