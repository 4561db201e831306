"""Freezes the processes that watch over it, so that nobody ends the run."""

import os
import signal
import time

print("contained: the run must still end in time", flush=True)
for pid in (1, os.getppid()):
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError:
        continue
time.sleep(60)
