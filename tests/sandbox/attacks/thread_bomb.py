"""Starts threads without end, each of which is a task of the kernel."""

import os
import threading
import time

ENOUGH = 300
threading.stack_size(64 << 10)
count = 0
try:
    while count < ENOUGH:
        threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
        count += 1
    print(f"ESCAPED: {count} threads at once", flush=True)
except RuntimeError as error:
    print(f"contained: stopped after some threads: {error}", flush=True)
os._exit(0)
