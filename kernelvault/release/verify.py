"""Checking a release from nothing but its folder: bytes first, then what the rows claim."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import duckdb

from expectations.channels import channel_names
from kernelvault.release.export import PARTITIONS
from kernelvault.release.manifest import Manifest, list_files, read_manifest
from kernelvault.store.functions import register_functions
from kernelvault.store.views import define_views
from schemas import TABLES


@dataclass(frozen=True, slots=True)
class ReleaseProblem:
    """One thing that is wrong: its kind, the file or id it is about, and what it is."""

    kind: str
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}: {self.message}"


@dataclass(frozen=True, slots=True)
class ReleaseReport:
    """Everything found wrong with a release."""

    path: Path
    problems: tuple[ReleaseProblem, ...]

    @property
    def passed(self) -> bool:
        return not self.problems


def verify(path: Path) -> ReleaseReport:
    """Check digests, ids, verdicts and samples; raises UsageError when it is no release."""
    manifest = read_manifest(path)
    problems = [*_file_problems(path, manifest), *_semantic_problems(path, manifest)]
    return ReleaseReport(path, tuple(problems))


def _file_problems(path: Path, manifest: Manifest) -> list[ReleaseProblem]:
    expected = {entry.path: entry for entry in manifest.files}
    found = {entry.path: entry for entry in list_files(path)}
    problems = []
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            problems.append(ReleaseProblem("file", name, "is missing"))
        elif name not in expected:
            problems.append(ReleaseProblem("file", name, "is not in the manifest"))
        elif found[name] != expected[name]:
            problems.append(ReleaseProblem("file", name, "differs from its digest"))
    return problems


def _semantic_problems(path: Path, manifest: Manifest) -> list[ReleaseProblem]:
    if manifest.channel not in channel_names():
        return [ReleaseProblem("manifest", manifest.channel, "is no known channel")]
    query = (files("kernelvault.release") / "sql" / "problems.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        register_functions(connection)
        try:
            for name, table in TABLES.items():
                _attach(connection, path, name, name, table.schema.names)
            define_views(connection, manifest.channel)
            columns = connection.table("samples").columns
            _attach(connection, path, "samples", "released_samples", columns)
            counts = _count_problems(connection, manifest)
            rows = connection.execute(query).fetchall()
        except duckdb.Error as error:
            cause = str(error).splitlines()[0]
            return [ReleaseProblem("data", str(path), f"cannot be read: {cause}")]
    return [*counts, *(ReleaseProblem(*row) for row in rows)]


def _attach(
    connection: duckdb.DuckDBPyConnection, path: Path, name: str, view: str, columns: list[str]
) -> None:
    """Make the files of a table the view `view`."""
    data = sorted(str(file) for file in (path / "data" / name).rglob("*.parquet"))
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in data)
    names = ", ".join(f'"{column}"' for column in columns)
    connection.execute(
        f"CREATE VIEW {view} AS SELECT {names} FROM"
        f" read_parquet([{listed}], hive_partitioning = true, hive_types_autocast = false)"
    )


def _count_problems(
    connection: duckdb.DuckDBPyConnection, manifest: Manifest
) -> list[ReleaseProblem]:
    problems = []
    for name in PARTITIONS:
        view = name if name in TABLES else f"released_{name}"
        (rows,) = connection.table(view).count("*").fetchall()[0]
        if rows != manifest.counts.get(name):
            message = f"has {rows} rows, the manifest says {manifest.counts.get(name)}"
            problems.append(ReleaseProblem("count", name, message))
    return problems
