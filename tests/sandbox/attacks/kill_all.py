"""Sends SIGKILL to every process it may signal."""

import os
import signal

print("contained: the host is searched for victims", flush=True)
os.kill(-1, signal.SIGKILL)
