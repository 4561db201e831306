"""Forks without end."""

import os
import time

ENOUGH = 300
count = 0
deadline = time.monotonic() + 3
try:
    while count < ENOUGH and time.monotonic() < deadline:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        count += 1
    print(f"ESCAPED: {count} processes at once", flush=True)
except OSError as error:
    print(f"contained: stopped after some processes: {error.strerror}", flush=True)
