"""Sends SIGKILL to every process it may signal."""

import os
import signal

print("contained: the host is searched for victims", flush=True)
try:
    os.kill(-1, signal.SIGKILL)
except OSError as error:
    print(f"contained: {error.strerror}", flush=True)
