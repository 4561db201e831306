"""Uses up the watches that the kernel counts for each user."""

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


ENOUGH = 1000
count = 0
ready, tell = os.pipe()
for _ in range(20):
    try:
        if os.fork():
            continue
    except OSError:
        break
    try:
        for _ in range(100):
            checked(LIBC.inotify_init())
            os.write(tell, b"x")
    except OSError:
        pass
    os.close(tell)
    time.sleep(1)  # hold them, so that they count together
    os._exit(0)
os.close(tell)
while data := os.read(ready, 4096):
    count += len(data)
if count > ENOUGH:
    print(f"ESCAPED: {count} watches", flush=True)
else:
    print("contained: few watches are given", flush=True)
