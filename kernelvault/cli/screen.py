"""Consoles and tables that read well on a terminal and in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 200


def screen() -> Console:
    """Standard output; without colours and with wide lines when it is no terminal."""
    return _console(sys.stdout)


def errors() -> Console:
    """Standard error."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, soft_wrap=True, highlight=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> Table:
    """A plain table; numbers are right-aligned, nothing in a cell is taken for markup."""
    body = [["" if cell is None else cell for cell in row] for row in rows]
    made = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for index, name in enumerate(columns):
        numeric = bool(body) and all(isinstance(row[index], int | float) for row in body)
        made.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in body:
        made.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return made


OUTCOME_STYLES = {"passed": "green", "ok": "green", "failed": "red", "missing": "red"}


def outcome(word: str) -> Text:
    """An outcome in its colour."""
    return Text(word, style=OUTCOME_STYLES.get(word, "yellow"))
