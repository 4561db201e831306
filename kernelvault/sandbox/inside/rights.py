"""What a task may not do: drops rights of this process and sets its limits."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from pathlib import Path
from typing import Any

PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
_UIDS = 1000
_CAPABILITY_VERSION_3 = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


def limit(name: str, value: int, config: dict[str, Any]) -> None:
    """Set a limit of this process, as far as the limits that we have ourselves allow."""
    if name == "RLIMIT_NPROC" and config["uids"] is None:
        value += 1  # ours has the same uid, and counts
    number = getattr(resource, name)
    most = resource.getrlimit(number)[1]
    hard = value + 1 if name == "RLIMIT_CPU" else value
    if most != resource.RLIM_INFINITY:
        value, hard = min(value, most), min(hard, most)
    resource.setrlimit(number, (value, hard))


def drop(number: int, config: dict[str, Any]) -> None:
    """Become task `number`: its uid, where tasks have some, no capabilities, no new privileges."""
    # The kernel, short of memory, takes the task and not us. Only who can be traced may ask for
    # that, and a task's own fork has nothing to hide from the task.
    prctl(PR_SET_DUMPABLE, 1)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    if config["uids"] is not None:
        for capability in range(64):
            prctl(PR_CAPBSET_DROP, capability)
        uid = config["uids"] + number % _UIDS
        os.setgroups(config["groups"])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        _clear_capabilities()
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def _clear_capabilities() -> None:
    """Changing the uid leaves the inheritable ones, which a program with file rights would get."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if _libc.capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capabilities cannot be cleared")


def prctl(option: int, value: int) -> None:
    _libc.prctl(option, value, 0, 0, 0)
