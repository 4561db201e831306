"""Cutting a release: checkpoint, export to a hidden folder, manifest, card, rename."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from expectations.channels import Channel, channel_names, load_channel
from expectations.checkpoint import CheckpointReport, run_checkpoint
from kernelvault.errors import CorpusInvalid, StoreFault, UsageError
from kernelvault.release.card import write_card
from kernelvault.release.export import export_tables
from kernelvault.release.manifest import (
    NAME,
    Manifest,
    build_manifest,
    list_files,
    read_manifest,
    write_manifest,
)
from kernelvault.settings import Settings
from kernelvault.store import Corpus
from kernelvault.store.delta import damaged
from schemas import TABLES


@dataclass(frozen=True, slots=True)
class Release:
    """A release folder and its rows per table; `version` is the folder's name.

    `unchanged` says that an equal one existed and nothing was written.
    """

    path: Path
    version: str
    unchanged: bool
    counts: dict[str, int]


def create(settings: Settings, channel: str = "preview") -> Release:
    """Check the corpus and cut `<channel>-<next number>`, or return the release that equals it.

    Raises CorpusInvalid naming expectations, candidates and gates when the checkpoint fails,
    UsageError for an unknown channel and a corpus without samples, StoreFault when files cannot
    be read or written.
    """
    policy = find_channel(channel)
    if not settings.corpus.is_dir():
        raise UsageError(f"there is no corpus {settings.corpus}", "`kernelvault run` makes one")
    corpus = Corpus(settings.corpus)
    corpus.commit()
    try:
        return _cut(settings, corpus, policy)
    except duckdb.Error as error:
        raise damaged(str(error).splitlines()[0]) from error


def _cut(settings: Settings, corpus: Corpus, policy: Channel) -> Release:
    channel = policy.name
    with corpus.connection(channel) as connection, _folder(settings.releases) as work:
        if not connection.table("samples").limit(1).fetchall():
            raise UsageError(
                f"{settings.corpus} holds no sample of the {channel} channel",
                "`kernelvault run` makes samples",
            )
        _require(run_checkpoint(connection))
        counts = export_tables(connection, work)
        versions = {table: corpus.delta.version(table) for table in TABLES}
        manifest = build_manifest(work, channel, counts, versions)
        if existing := _equal_release(settings.releases, manifest):
            return Release(existing, existing.name, unchanged=True, counts=counts)
        path = settings.releases / f"{channel}-{_next(settings.releases, channel)}"
        _finish(work, path, manifest, policy)
    return Release(path, path.name, unchanged=False, counts=counts)


def find_channel(name: str) -> Channel:
    """The channel; raises UsageError naming the known ones."""
    if name not in channel_names():
        known = ", ".join(channel_names())
        raise UsageError(f"no release channel {name!r}", f"choose one of {known}")
    return load_channel(name)


def _require(report: CheckpointReport) -> None:
    if report.passed:
        return
    lines = [
        f"{failure.suite}.{failure.name} ({failure.description}):"
        + "".join(f"\n  {row}" for row in failure.offending[:20])
        for failure in report.failures
    ]
    raise CorpusInvalid(
        "the release checkpoint failed\n" + "\n".join(lines),
        "restore the corpus from a backup, or start a new one with --corpus",
    )


@contextmanager
def _folder(releases: Path) -> Iterator[Path]:
    """A hidden work folder beside the releases, gone afterwards; one release is cut at a time."""
    try:
        releases.mkdir(parents=True, exist_ok=True)
        with (releases / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            work = Path(tempfile.mkdtemp(prefix=".cutting-", dir=releases))
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise StoreFault(
            f"the release cannot be written to {releases}: {error.strerror or error}",
            "free space or make the folder writable, then run the same command again",
        ) from error


def _equal_release(releases: Path, manifest: Manifest) -> Path | None:
    """A whole release of equal content; a damaged one equals nothing."""
    for path in sorted(releases.glob(f"{manifest.channel}-*/{NAME}")):
        try:
            known = read_manifest(path.parent)
        except UsageError:
            continue  # `release verify` tells of it
        same = known.content_sha256 == manifest.content_sha256
        if same and known.files == list_files(path.parent):
            return path.parent
    return None


def _next(releases: Path, channel: str) -> str:
    pattern = re.compile(re.escape(channel) + r"-(\d{4,})")
    taken = [int(m[1]) for path in releases.iterdir() if (m := pattern.fullmatch(path.name))]
    return f"{max(taken, default=0) + 1:04d}"


def _finish(work: Path, path: Path, manifest: Manifest, policy: Channel) -> None:
    write_card(work, path.name, manifest, policy)
    write_manifest(work, manifest, path.name)
    for entry in work.rglob("*"):
        if entry.is_file():
            entry.chmod(0o444)
        _sync(entry)
    work.chmod(0o755)
    work.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    """Make a file or folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
