"""Cutting a release: checkpoint, export to a hidden folder, manifest, card, rename."""

from __future__ import annotations

import fcntl
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from expectations.channels import Channel, channel_names, load_channel
from expectations.checkpoint import CheckpointReport, run_checkpoint
from kernelvault.errors import CorpusInvalid, StoreFault, UsageError
from kernelvault.release.card import write_card
from kernelvault.release.export import export_tables
from kernelvault.release.manifest import Manifest, build_manifest, read_manifest, write_manifest
from kernelvault.settings import Settings
from kernelvault.store import Corpus
from schemas import TABLES


@dataclass(frozen=True, slots=True)
class Release:
    """A release folder. `unchanged` says that an equal one existed and nothing was written."""

    path: Path
    counts: dict[str, int]
    unchanged: bool


def create(settings: Settings, channel: str = "preview", version: str | None = None) -> Release:
    """Check the corpus and cut `<channel>-<version>`; version defaults to the next number.

    Raises CorpusInvalid naming expectations, candidates and gates when the checkpoint fails,
    UsageError for an unknown channel or a version that exists, StoreFault when it cannot write.
    """
    policy = find_channel(channel)
    corpus = Corpus(settings.corpus)
    corpus.commit()
    with corpus.connection(channel) as connection, _folder(settings.releases) as work:
        _require(run_checkpoint(connection))
        counts = export_tables(connection, work)
        versions = {table: corpus.delta.version(table) for table in TABLES}
        manifest = build_manifest(work, channel, counts, versions)
        if existing := _equal_release(settings.releases, manifest):
            return Release(existing, counts, unchanged=True)
        path = settings.releases / f"{channel}-{version or _next(settings.releases, channel)}"
        if path.exists():
            raise UsageError(f"the release {path} exists", "releases never change: name another")
        _finish(work, path, manifest, policy)
    return Release(path, counts, unchanged=False)


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
        "mend or remove the named rows, or generate more when there are no samples",
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
    for path in sorted(releases.glob(f"{manifest.channel}-*/manifest.json")):
        try:
            if read_manifest(path.parent).content_sha256 == manifest.content_sha256:
                return path.parent
        except UsageError:
            continue  # a damaged release equals nothing; `release verify` tells of it
    return None


def _next(releases: Path, channel: str) -> str:
    pattern = re.compile(re.escape(channel) + r"-(\d{4,})")
    taken = [int(m[1]) for path in releases.iterdir() if (m := pattern.fullmatch(path.name))]
    return f"{max(taken, default=0) + 1:04d}"


def _finish(work: Path, path: Path, manifest: Manifest, policy: Channel) -> None:
    write_card(work, path.name, manifest, policy)
    write_manifest(work, manifest, path.name)
    for file in work.rglob("*"):
        if file.is_file():
            file.chmod(0o444)
    work.chmod(0o755)
    work.rename(path)
