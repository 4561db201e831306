"""Changes the clock of the host."""

import ctypes
import os
import time

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def set_time():
    time.clock_settime(time.CLOCK_REALTIME, time.time() + 5)


def set_time_of_day():
    now = (ctypes.c_long * 2)(int(time.time()) + 5, 0)
    checked(LIBC.settimeofday(now, None))


def steer():
    wanted = (ctypes.c_long * 32)()
    wanted[0] = 0x4000  # the tick, which is microseconds of a hundredth
    wanted[11] = 10001
    checked(LIBC.adjtimex(wanted))


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("clock_settime", set_time)
attempt("settimeofday", set_time_of_day)
attempt("adjtimex", steer)
