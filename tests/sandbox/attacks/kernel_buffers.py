"""Fills buffers in the kernel: pipes, sockets, watches; all shown in no process's size."""

import ctypes
import fcntl
import os
import socket
import time

MiB = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)


def fill_pipes():
    """Bytes in pipes made as large as they go."""
    held, total = [], 0
    try:
        while True:
            held += os.pipe()
            fcntl.fcntl(held[-1], 1031, MiB)  # F_SETPIPE_SZ
            os.set_blocking(held[-1], False)
            total += os.write(held[-1], b"x" * MiB)
    except OSError:
        time.sleep(1)  # hold it a moment
        return total


def fill_sockets():
    """Bytes in sockets that nobody reads."""
    held, total = [], 0
    try:
        while True:
            pair = socket.socketpair()
            held.append(pair)
            pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * MiB)
            pair[0].setblocking(False)
            try:
                while True:
                    total += pair[0].send(b"x" * 65536)
            except BlockingIOError:
                pass
    except OSError:
        time.sleep(1)
        return total


children = []
for _ in range(40):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        os._exit(min(255, (fill_pipes() + fill_sockets()) // MiB))
    children.append(pid)
total = sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
if total > 1024:
    print(f"ESCAPED: kernel buffers held {total} MiB", flush=True)
else:
    print("contained: kernel buffers stayed small", flush=True)
