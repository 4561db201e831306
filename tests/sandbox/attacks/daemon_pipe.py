"""Leaves a daemon behind that keeps the log and the result stream open."""

import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
print("contained: a daemon was started; the host is searched for it", flush=True)
