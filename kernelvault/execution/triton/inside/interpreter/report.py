"""Prints and assertions of kernels."""

import sys
from typing import Any

import numpy as np

LINES = 50  # of one process; further ones are dropped
LINE_CHARACTERS = 400
_written = [0]


def write_line(*values: Any, **options: Any) -> None:
    """Write one line to standard error, cut to a length; after `LINES` of them nothing more."""
    _written[0] += 1
    if _written[0] <= LINES:
        text = " ".join(str(value) for value in values).replace("\n", " ")
        sys.stderr.write(text[:LINE_CHARACTERS] + "\n")
    elif _written[0] == LINES + 1:
        sys.stderr.write("(further prints of kernels are not shown)\n")


def _holds(condition: Any) -> bool:
    data = getattr(getattr(condition, "handle", condition), "data", None)
    if data is not None:
        return bool(np.asarray(data).all())
    return bool(getattr(condition, "value", condition))


def check_assertion(condition: Any, message: Any = "") -> None:
    """Raise AssertionError, naming the kernel's message, unless every element is true."""
    if not _holds(condition):
        text = getattr(message, "value", message)
        raise AssertionError(f"device assertion failed: {text}" if text else
                             "device assertion failed")  # fmt: skip


def _assert(self: Any, condition: Any, message: str) -> None:
    check_assertion(condition, message)


def _assume(self: Any, condition: Any) -> None:
    if not _holds(condition):
        raise AssertionError("tl.assume was told something false")


def _print(self: Any, prefix: str, hexadecimal: bool, values: list[Any], signed: Any) -> None:
    shown = [np.array2string(value.data, threshold=16) for value in values]
    write_line(f"{self.grid_idx}{prefix}", *shown)


METHODS: dict[str, Any] = {
    "create_print": _print,
    "create_assert": _assert,
    "create_assume": _assume,
}
