"""Takes memory that belongs to no process: files in memory that are mapped nowhere."""

import os

MiB = 1 << 20
ENOUGH = 1280
held = []
chunk = b"x" * MiB
total = 0
try:
    while total < ENOUGH:
        held.append(os.memfd_create("kvattack"))
        for _ in range(16):
            total += os.write(held[-1], chunk) // MiB
    print(f"ESCAPED: memory files hold {total} MiB", flush=True)
except OSError as error:
    print(f"contained: memory files: {error.strerror}", flush=True)
