"""Reads the tar of `/out` by an allow list: regular files with plain names at the top level."""

from __future__ import annotations

import io
import tarfile

from kernelvault.sandbox.inside.answering import MAX_FILES

MAX_NAME = 100
# What `tarfile` raises on odd bytes; it recurses into headers that follow headers.
_DAMAGES = (tarfile.TarError, ValueError, OSError, EOFError, OverflowError, RecursionError)


def read_archive(data: bytes, max_bytes: int) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """(files, notes): what was accepted, and one note for each entry that was refused."""
    files: dict[str, bytes] = {}
    notes: list[str] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for entry in archive:
                if entry.size < 0:
                    raise ValueError("an entry of negative size leads back to itself")
                name = entry.name.removeprefix("./")
                if entry.isdir() and name in ("", "."):
                    continue
                if refusal := _refusal(entry, name, len(files), max_bytes):
                    notes.append(f"refused {name[:MAX_NAME]!r}: {refusal}")
                    continue
                stream = archive.extractfile(entry)
                if stream is not None:
                    files[name] = stream.read()
    except _DAMAGES as error:
        notes.append(f"the result archive is damaged: {error}")
    return files, tuple(notes)


def _refusal(entry: tarfile.TarInfo, name: str, count: int, max_bytes: int) -> str:
    if not entry.isreg() or entry.issparse():
        return "not a regular file"
    # `isprintable` also refuses line ends, terminal controls and what is no Unicode.
    plain = name.isprintable() and "/" not in name and not name.startswith(".")
    if not name or not plain or len(name) > MAX_NAME:
        return "not a plain file name"
    if entry.size > max_bytes:
        return f"{entry.size} bytes"
    return "too many files" if count >= MAX_FILES else ""
