"""Why a problem cannot serve; raised inside the worker and told to the parent as plain JSON."""

from __future__ import annotations

import traceback

PROBLEM_FILE = "problem.py"


class Rejected(Exception):
    """`reason` is a stable one-word code, `cause` and `next_step` are for people."""

    def __init__(self, reason: str, cause: str, next_step: str) -> None:
        super().__init__(reason, cause, next_step)
        self.reason = reason
        self.cause = cause
        self.next_step = next_step


def describe(error: BaseException) -> str:
    """One line for an error of the problem file, with the line of that file when it is known."""
    text = (str(error).strip().splitlines() or [""])[0][:300]
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.endswith(PROBLEM_FILE)
    ]
    where = f" (line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {text}{where}"
