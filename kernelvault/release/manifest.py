"""The manifest of a release: what it holds, byte for byte, and what made it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernelvault.errors import UsageError
from kernelvault.release.content import (
    LAYOUT_VERSION,
    content_digest,
    family_counts,
    open_release,
)

NAME = "manifest.json"
_TOOLS = ("kernelvault", "deltalake", "duckdb", "great-expectations", "pyarrow")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of the release by its path inside the folder."""

    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """`counts` are rows per table, `families` samples per family, `corpus_versions` the table
    versions it was cut from. `content_sha256` covers channel, ids and outcomes, but neither hosts
    nor times: equal work gives equal content.
    """

    schema_version: int
    channel: str
    presets: tuple[str, ...]
    content_sha256: str
    counts: dict[str, int]
    families: dict[str, int]
    corpus_versions: dict[str, int | None]
    tools: dict[str, str]
    files: tuple[FileEntry, ...]


def build_manifest(
    folder: Path, channel: str, counts: dict[str, int], versions: dict[str, int | None]
) -> Manifest:
    """The manifest of the data files that are in `folder` now."""
    with open_release(folder, channel) as connection:
        presets = connection.sql("SELECT DISTINCT preset FROM released_samples ORDER BY 1")
        return Manifest(
            schema_version=LAYOUT_VERSION,
            channel=channel,
            presets=tuple(row[0] for row in presets.fetchall()),
            content_sha256=content_digest(connection, channel),
            counts=counts,
            families=family_counts(connection),
            corpus_versions=versions,
            tools={name: version(name) for name in _TOOLS},
            files=list_files(folder),
        )


def list_files(folder: Path) -> tuple[FileEntry, ...]:
    """Every file below `folder` but the manifest, by path."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != NAME:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            found.append(FileEntry(name, digest, path.stat().st_size))
    return tuple(found)


def write_manifest(folder: Path, manifest: Manifest, release: str) -> None:
    """Write the manifest over all files of the folder, the card among them."""
    data: dict[str, Any] = {"release": release, **asdict(manifest)}
    data["files"] = [asdict(entry) for entry in list_files(folder)]
    (folder / NAME).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a release; raises UsageError when there is none or it is unreadable."""
    try:
        data = json.loads((folder / NAME).read_text(encoding="utf-8"))
        data.pop("release")
        entries = tuple(FileEntry(**entry) for entry in data.pop("files"))
        presets = tuple(data.pop("presets"))
        return Manifest(**data, presets=presets, files=entries)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{folder} has no readable {NAME}: {error}", "give the folder of a release"
        ) from error
