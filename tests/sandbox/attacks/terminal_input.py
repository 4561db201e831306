"""Types commands into the terminal of whoever started it."""

import ctypes
import fcntl
import glob
import os
import termios


def type_into(path):
    def action():
        terminal = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            fcntl.ioctl(terminal, termios.TIOCSTI, b"\n")
        finally:
            os.close(terminal)

    return action


def past_a_filter():
    """The kernel reads the lower half of the number of the request, a careless filter all of it."""
    _, theirs = os.openpty()
    os.setsid()
    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
    try:
        fcntl.ioctl(theirs, termios.TIOCSTI, b"x")
    except PermissionError:
        request = ctypes.c_ulong(1 << 32 | termios.TIOCSTI)
        if ctypes.CDLL(None).syscall(16, theirs, request, b"x") == 0:
            return
    raise PermissionError(1, "a terminal of its own takes both or none")


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


for path in ("/dev/tty", "/dev/console", "/dev/tty0", "/dev/ttyS0", *glob.glob("/dev/pts/[0-9]*")):
    attempt(f"type into {path}", type_into(path))
for number in range(3):
    attempt(f"type into stream {number}", lambda n=number: fcntl.ioctl(n, termios.TIOCSTI, b"x"))
child = os.fork()
if child == 0:
    attempt("type past a filter of requests", past_a_filter)
    os._exit(0)
os.waitpid(child, 0)
