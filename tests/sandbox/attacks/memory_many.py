"""Several processes, each below the memory limit, that together exceed it."""

import os
import time

MiB = 1 << 20
PROCESSES = 4
ready, tell = os.pipe()
for _ in range(PROCESSES):
    if os.fork() == 0:
        try:
            block = bytearray(b"x") * (320 * MiB)
        except MemoryError:
            os._exit(1)
        os.write(tell, b"x")
        time.sleep(2)
        os._exit(0)
os.close(tell)
held = 0
while held < PROCESSES and os.read(ready, 1):
    held += 1
if held == PROCESSES:
    print(f"ESCAPED: {PROCESSES} processes hold {PROCESSES * 320} MiB", flush=True)
else:
    print("contained: not all processes got their memory", flush=True)
