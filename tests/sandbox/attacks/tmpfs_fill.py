"""Fills every folder that can be written, memory-backed ones above all."""

import os

OUT = os.environ.get("KERNELVAULT_OUT", "/out")
MiB = 1 << 20
chunk = b"x" * MiB
total = 0
for folder in ("/dev/shm", "/tmp", "/dev", "/run", "/var/tmp", "/", OUT):
    count = 0
    try:
        for number in range(100):
            with open(f"{folder}/kvattack-{number}", "wb", buffering=0) as file:
                for _ in range(8):
                    total += file.write(chunk) // MiB
            count += 8
        print(f"ESCAPED: wrote {count} MiB to {folder}", flush=True)
    except OSError as error:
        print(f"contained: {folder}: {error.strerror}", flush=True)
