"""Opens files without end and raises its own limits."""

import os
import resource

ENOUGH = 5000


def raise_limit():
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
    except ValueError as error:
        raise PermissionError(1, str(error)) from error


def open_many():
    for _ in range(ENOUGH):
        os.open("/dev/null", os.O_RDONLY)


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("raise the limit on open files", raise_limit)
attempt(f"open {ENOUGH} files", open_many)
