"""The spool: one durable JSON file a finished unit, until a commit drains it into the tables."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from kernelvault.errors import StoreFault
from kernelvault.hashing import sha256_bytes
from kernelvault.log import get_logger
from schemas import TABLES

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SpooledUnit:
    """One unit's rows per table. `key` is the name of its file without `.json`."""

    key: str
    rows: dict[str, list[dict[str, Any]]]


class Spool:
    """A folder of units, each written at once or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, rows: Rows) -> None:
        """Make a unit durable: write, fsync, rename, fsync the folder.

        Raises StoreFault when the folder is read-only or full; nothing half-written stays.
        """
        text = json.dumps({table: list(entries) for table, entries in rows.items()}, default=_iso)
        # Named by its content as well: a unit that is spooled again with other rows while a commit
        # drains the older file must not be deleted with it.
        digest = sha256_bytes(text.encode())[:16]
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".part-", dir=self._folder)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(self._folder / f"{key}.{digest}.json")
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            _sync_folder(self._folder)
        except OSError as error:
            raise StoreFault(
                f"a finished unit cannot be written to {self._folder}: {error.strerror}",
                "free space or make the corpus folder writable, then run the same command again",
            ) from error

    def keys(self) -> tuple[str, ...]:
        """Keys (file names) of the units that wait, sorted."""
        if not self._folder.is_dir():
            return ()
        return tuple(sorted(p.stem for p in self._folder.glob("*.json")))

    def units(self) -> Iterator[SpooledUnit]:
        """The waiting units in key order. A damaged file is set aside with a warning."""
        for key in self.keys():
            path = self._folder / f"{key}.json"
            try:
                rows = _parse(json.loads(path.read_text(encoding="utf-8")))
            except FileNotFoundError:
                continue  # another process has drained it
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self._set_aside(path, error)
                continue
            yield SpooledUnit(key, rows)

    def remove(self, keys: Sequence[str]) -> None:
        """Forget drained units."""
        for key in keys:
            (self._folder / f"{key}.json").unlink(missing_ok=True)

    def damaged(self) -> tuple[Path, ...]:
        """Files that were set aside."""
        return tuple(sorted((self._folder / "damaged").glob("*.json")))

    def _set_aside(self, path: Path, error: Exception) -> None:
        target = path.parent / "damaged" / path.name
        with suppress(OSError):
            target.parent.mkdir(exist_ok=True)
            path.replace(target)
        _log.warning("spooled unit %s is damaged (%s); set aside as %s", path.name, error, target)


def _iso(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a row cannot hold {type(value).__name__}")


def _parse(data: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Rows with their times restored, proved to fit their table."""
    for table, rows in data.items():
        schema = TABLES[table].schema
        times = [f.name for f in schema if pa.types.is_timestamp(f.type)]
        for row in rows:
            for name in times:
                row[name] = datetime.fromisoformat(row[name])
        pa.Table.from_pylist(rows, schema=schema).validate()
    return data


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
