"""Uses open files and folders that it inherited from the supervisor."""

import os
import stat

found = False
for name in os.listdir("/proc/self/fd"):
    number = int(name)
    try:
        mode = os.fstat(number).st_mode
        target = os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        continue
    if target.startswith(("/in", "/out")) or target.endswith("/fd") or target == "/dev/null":
        continue
    if number < 3 and stat.S_ISFIFO(mode):
        continue
    found = True
    print(f"ESCAPED: inherited descriptor {number}: {target.split(':')[0]}", flush=True)
if not found:
    print("contained: nothing but the log is open", flush=True)
