"""Makes a hundred thousand empty files, which need memory but no space."""

import os

ENOUGH = 200_000
count = 0
try:
    os.mkdir("/tmp/kvattack")
    where = os.open("/tmp/kvattack", os.O_RDONLY)
    while count < ENOUGH:
        os.close(os.open(str(count), os.O_CREAT | os.O_WRONLY, dir_fd=where))
        count += 1
    print(f"contained: {count} empty files count as memory; the host's memory is watched")
except OSError as error:
    print(f"contained: empty files: {error.strerror}", flush=True)
