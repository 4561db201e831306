"""Leaves a daemon behind that has closed every stream."""

import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 256)
        time.sleep(60)
    os._exit(0)
os.wait()
print("contained: a daemon was started; the host is searched for it", flush=True)
