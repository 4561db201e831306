"""How faults reach the user: a cause, a next step and an exit code; a traceback on request only."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from kernelvault.cli.screen import errors
from kernelvault.errors import KernelVaultError

INTERRUPTED = 130
_ROOT = logging.getLogger("kernelvault")


def enable_debug() -> None:
    """Log to stderr and show tracebacks."""
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    _ROOT.setLevel(logging.DEBUG)


@contextmanager
def reported(as_json: bool = False, resume: str = "") -> Iterator[None]:
    """Turn what is raised inside into a message and an exit code.

    `as_json` prints faults as one JSON record on stdout too; `resume` is said after an interrupt.
    SIGTERM counts as an interrupt.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except KernelVaultError as error:
        _tell(error, as_json)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        errors().print(f"interrupted{': ' + resume if resume else ''}", markup=False)
        raise typer.Exit(INTERRUPTED) from None
    except (typer.Exit, SystemExit, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - the process boundary: users get no traceback
        text = f"unexpected {type(error).__name__}: {error}"
        _tell(KernelVaultError(text, "see more with `kernelvault --debug ...`"), as_json)
        raise typer.Exit(KernelVaultError.exit_code) from None


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _tell(error: KernelVaultError, as_json: bool) -> None:
    if _ROOT.isEnabledFor(logging.DEBUG):
        _ROOT.debug("the command ended in a fault", exc_info=True)
    if as_json:
        record = {"error": type(error).__name__, "cause": error.cause, "next_step": error.next_step}
        sys.stdout.write(json.dumps(record) + "\n")
    console = errors()
    console.print(f"error: {error.cause}", style="red", markup=False)
    if error.next_step:
        console.print(f"  next step: {error.next_step}", markup=False)
