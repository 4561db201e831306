"""Has the kernel write a core file, and tells it where to."""

import os
import resource
import signal


def pattern():
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


def raise_limit():
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30))
    except ValueError as error:
        raise PermissionError(1, str(error)) from error


def dump():
    child = os.fork()
    if child == 0:
        os.chdir("/tmp")
        os.kill(os.getpid(), signal.SIGSEGV)
    if not os.WCOREDUMP(os.waitpid(child, 0)[1]):
        raise PermissionError(1, "no core was written")


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("open core_pattern for writing", pattern)
attempt("raise the limit on core files", raise_limit)
attempt("crash with a core file", dump)
