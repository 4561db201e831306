"""Checking a release from nothing but its folder: bytes first, then what the rows claim."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from expectations.channels import channel_names
from kernelvault.release.content import content_digest, family_counts, open_release, read_sql
from kernelvault.release.export import PARTITIONS
from kernelvault.release.manifest import Manifest, list_files, read_manifest
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
    try:
        with open_release(path, manifest.channel) as connection:
            rows = connection.execute(read_sql("problems")).fetchall()
            claims = _manifest_problems(connection, manifest)
    except duckdb.Error as error:
        cause = str(error).splitlines()[0]
        return [ReleaseProblem("data", str(path), f"cannot be read: {cause}")]
    return [*claims, *(ReleaseProblem(*row) for row in rows)]


def _manifest_problems(
    connection: duckdb.DuckDBPyConnection, manifest: Manifest
) -> list[ReleaseProblem]:
    problems = []
    for name in PARTITIONS:
        view = name if name in TABLES else f"released_{name}"
        (rows,) = connection.table(view).count("*").fetchall()[0]
        if rows != manifest.counts.get(name):
            message = f"has {rows} rows, the manifest says {manifest.counts.get(name)}"
            problems.append(ReleaseProblem("count", name, message))
    if family_counts(connection) != manifest.families:
        problems.append(ReleaseProblem("count", "families", "are not those of the manifest"))
    if content_digest(connection, manifest.channel) != manifest.content_sha256:
        problems.append(ReleaseProblem("content", manifest.channel, "differs from its digest"))
    return problems
