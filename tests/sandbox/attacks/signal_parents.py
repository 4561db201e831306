"""Stops, kills and confuses the processes that watch over it."""

import os
import signal
import time

print("contained: the run must still end in time", flush=True)
for pid in (1, os.getppid()):
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGALRM):
        try:
            os.kill(pid, number)
        except OSError:
            continue
for action in (
    lambda: os.killpg(0, signal.SIGTERM),
    lambda: os.kill(1, signal.SIGKILL),
    lambda: os.kill(os.getppid(), signal.SIGKILL),
):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        action()
    except OSError:
        continue
time.sleep(0.5)
