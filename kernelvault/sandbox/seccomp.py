"""The system calls that no kernel needs and attacks do: one profile for every backend.

`seccomp.json` is in Docker's format. Docker gets it as it is; bubblewrap gets the same rules as a
BPF program that libseccomp compiles. What is denied: other processes' memory, kernel modules and
keys, mounts and namespaces, clocks, `io_uring`, `bpf`, `userfaultfd`, performance counters, files
by handle, objects that outlive their process (System V, message queues) or hide memory (memfd),
typing into a terminal. Sockets of every kind, too: none leads anywhere here, and their buffers are
memory of the kernel's that shows in no process. The `clone3`
call is said not to exist, since its flags cannot be seen; C libraries then use `clone`.
"""

from __future__ import annotations

import errno
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from kernelvault.errors import SandboxUnavailable
from kernelvault.sandbox.contract import Profile

_PROFILE = Path(__file__).with_name("seccomp.json")
_NEXT_STEP = "apt-get install libseccomp2 (it is a library of the system)"


def rules(profile: Profile) -> dict[str, Any]:
    """The profile in Docker's format."""
    found: dict[str, Any] = json.loads(_PROFILE.read_text())
    if profile == "default":
        # Sanitizers turn address randomisation off, to have their shadow memory where they want it.
        found["syscalls"].append(
            {"names": ["personality"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}
        )
    return found


@cache
def program(profile: Profile) -> bytes:
    """The rules as a BPF program for this machine.

    Raises SandboxUnavailable when libseccomp is not there. Calls that it does not know are older or
    newer than it; the kernel's own rights still keep them from a process without capabilities.
    """
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise SandboxUnavailable(f"libseccomp cannot be loaded: {error}", _NEXT_STEP) from error
    compare = {
        "SCMP_CMP_EQ": pyseccomp.EQ,
        "SCMP_CMP_MASKED_EQ": pyseccomp.MASKED_EQ,
    }
    found = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for rule in rules(profile)["syscalls"]:
        arguments = [
            pyseccomp.Arg(a["index"], compare[a["op"]], a["value"], a.get("valueTwo", 0))
            for a in rule.get("args", ())
        ]
        for name in rule["names"]:
            if _known(name):
                found.add_rule(pyseccomp.ERRNO(rule["errnoRet"]), name, *arguments)
    with tempfile.TemporaryFile() as file:
        found.export_bpf(file)
        file.seek(0)
        return file.read()


def _known(name: str) -> bool:
    """Whether this machine has such a call, and this libseccomp a number for it."""
    import pyseccomp

    try:
        return int(pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)) >= 0
    except (OSError, ValueError, RuntimeError):
        return False
