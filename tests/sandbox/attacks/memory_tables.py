"""Takes memory that shows in no resident size: page tables."""

import ctypes

MiB = 1 << 20
# Reading one byte of each 2 MiB maps the shared page of zeros, and costs a table page of 4 KiB.
TABLES = 1280 * 256
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
LIBC.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
PRIVATE, ANONYMOUS, NO_RESERVE, NO_HUGE_PAGES = 0x02, 0x20, 0x4000, 15

size = TABLES * 2 * MiB
base = LIBC.mmap(None, size, 1, PRIVATE | ANONYMOUS | NO_RESERVE, -1, 0)
if base == 2**64 - 1:
    print("contained: so much address space is refused", flush=True)
else:
    LIBC.madvise(base, size, NO_HUGE_PAGES)
    for place in range(base, base + size, 2 * MiB):
        ctypes.string_at(place, 1)
    print("ESCAPED: page tables take 1280 MiB", flush=True)
