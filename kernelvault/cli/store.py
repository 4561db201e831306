"""`kernelvault query` and `kernelvault cache`: the corpus in SQL, the cache on disk."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from kernelvault.cli import options
from kernelvault.cli.faults import reported
from kernelvault.cli.screen import screen, table
from kernelvault.errors import UsageError

FORMATS = ("table", "csv", "json", "parquet")
MiB = 1 << 20

cache_app = typer.Typer(help="Size and clearing of the cache.", no_args_is_help=True)


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT over samples, verdicts, attempts, ...")],
    format: Annotated[str, typer.Option("--format", help=", ".join(FORMATS))] = "table",
    output: Annotated[Path | None, typer.Option("--output", help="Write to this file")] = None,
    corpus: options.Corpus = None,
    config: options.Config = None,
) -> None:
    """Answer a SQL query over the corpus."""
    with reported():
        from kernelvault.store import Corpus
        from kernelvault.store.query import encode, run_query

        chosen = options.settings(config, corpus=corpus)
        if not chosen.corpus.is_dir():
            raise UsageError(f"there is no corpus {chosen.corpus}", "give --corpus, or `run` first")
        if format == "parquet" and output is None:
            raise UsageError("parquet is not for a terminal", "give --output FILE")
        if format not in FORMATS:
            raise UsageError(f"no format {format!r}", f"choose from {', '.join(FORMATS)}")
        answer = run_query(Corpus(chosen.corpus), sql)
        if format == "table" and output is None:
            rows = zip(*(column.to_pylist() for column in answer.columns), strict=True)
            screen().print(table(answer.column_names, rows))
            return
        encoded = encode(answer, "csv" if format == "table" else format)
        if output is None:
            sys.stdout.buffer.write(encoded)
            return
        try:
            output.write_bytes(encoded)
        except OSError as error:
            text = f"{output} cannot be written: {error.strerror}"
            raise UsageError(text, "choose another file") from error


@cache_app.command()
def size(cache: options.Cache = None, config: options.Config = None) -> None:
    """Print what the cache holds."""
    with reported():
        folder = options.settings(config, cache=cache).cache
        rows = [(part.name, f"{_bytes(part) / MiB:.1f} MiB") for part in _parts(folder)]
        screen().print(table(("part", "size"), rows))
        screen().print(f"{_bytes(folder) / MiB:.1f} MiB in {folder}", markup=False)


@cache_app.command()
def clear(cache: options.Cache = None, config: options.Config = None) -> None:
    """Delete the cache; whatever was in it is built again when needed."""
    with reported():
        folder = options.settings(config, cache=cache).cache
        freed = _bytes(folder)
        for part in _parts(folder):
            shutil.rmtree(part) if part.is_dir() and not part.is_symlink() else part.unlink()
        screen().print(f"freed {freed / MiB:.1f} MiB in {folder}", markup=False)


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _bytes(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.lstat().st_size for file in files if file.is_file())
