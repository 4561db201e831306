"""Run a command that Linux ends with its parent, even when the parent is killed outright.

python -m tasks.die_with_parent COMMAND [ARGUMENT...]
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # Survives the exec below.
    os.execvp(sys.argv[1], sys.argv[1:])
