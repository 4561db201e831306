"""A corpus folder: `tables/` (Delta), `spool/` (finished units), `bundles/` (failures)."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb

from kernelvault.errors import StoreFault, UsageError
from kernelvault.hashing import content_id
from kernelvault.spec.candidate import Candidate
from kernelvault.spec.problem import Problem
from kernelvault.spec.rows import from_row
from kernelvault.spec.verification import Verification
from kernelvault.store import views
from kernelvault.store.delta import DeltaStore
from kernelvault.store.spool import Rows, Spool, SpooledUnit
from schemas import TABLES

_UNITS_PER_COMMIT = 2000


@dataclass(frozen=True, slots=True)
class CommitReport:
    """What a commit did: units drained and rows added per table."""

    units: int
    added: dict[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        return any(self.added.values())


class Corpus:
    """Readers and writers of one corpus folder; safe for many processes at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.delta = DeltaStore(path / "tables")
        self._spool = Spool(path / "spool")
        self._waiting: dict[str, dict[str, dict[str, Any]]] | None = None

    # ------------------------------------------------------------------ writing
    def spool(self, key: str, rows: Rows) -> None:
        """Make one finished unit durable; it reaches the tables with the next commit."""
        self._spool.put(key, rows)
        waiting = self._waiting_rows()
        for table, entries in rows.items():
            for row in entries:
                waiting[table][str(row[TABLES[table].key])] = dict(row)

    def commit(self) -> CommitReport:
        """Drain the spool into the tables. Rows that are already there are not added again, so a
        crash at any point, or a unit that ran twice, changes nothing.

        Raises StoreFault when a table cannot be written; the spool keeps every unit until then.
        """
        added: dict[str, int] = {}
        units = 0
        with self._locked():
            for batch in _batched(self._spool.units(), _UNITS_PER_COMMIT):
                units += len(batch)
                shard = content_id("shard", [unit.key for unit in batch])
                for table in TABLES:
                    count = self._append(table, batch, shard)
                    added[table] = added.get(table, 0) + count
                self._spool.remove([unit.key for unit in batch])
        self._waiting = None
        return CommitReport(units, added)

    def _append(self, table: str, batch: Sequence[SpooledUnit], shard: str) -> int:
        key = TABLES[table].key
        rows = {str(row[key]): row for unit in batch for row in unit.rows.get(table, [])}
        known = self._existing(table, list(rows))
        fresh = [row for identity, row in rows.items() if identity not in known]
        if not fresh:
            return 0
        # A shard whose unit set is the same but whose rows differ would be another shard.
        identities = sorted(str(row[key]) for row in fresh)
        transaction = content_id("transaction", [table, shard, identities])
        return len(fresh) if self.delta.append(table, fresh, transaction) else 0

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("w")
        except OSError as error:
            raise StoreFault(
                f"the corpus folder {self.path} cannot be written: {error.strerror}",
                "make it writable or choose another with --corpus",
            ) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    # ------------------------------------------------------------------ reading
    def connection(self, channel: str = "preview") -> duckdb.DuckDBPyConnection:
        """An in-memory DuckDB with a view for each table and the views built on them."""
        return views.connect(self.delta, channel)

    def has_attempt(self, attempt_id: str) -> bool:
        """Whether an attempt is stored or waits in the spool."""
        return bool(self._rows("attempts", [attempt_id]))

    def has_verifications(self, ids: Sequence[str]) -> bool:
        """Whether every one of these verifications is stored or waits in the spool."""
        return len(self._rows("verifications", ids)) == len(set(ids))

    def verifications(self, ids: Sequence[str]) -> tuple[Verification, ...]:
        """Those of the verifications that are known."""
        rows = self._rows("verifications", ids)
        return tuple(from_row(Verification, row) for row in rows.values())

    def candidate_ids(self) -> tuple[tuple[str, str], ...]:
        """(language, candidate_id) of every committed candidate, sorted."""
        sql = "SELECT language, candidate_id FROM candidates ORDER BY ALL"
        return tuple(self.connection().execute(sql).fetchall())

    def candidate(self, candidate_id: str) -> Candidate:
        """A stored candidate; raises UsageError when there is none."""
        return from_row(Candidate, self._one("candidates", candidate_id))

    def problem(self, problem_id: str) -> Problem:
        """A stored problem; raises UsageError when there is none."""
        return from_row(Problem, self._one("problems", problem_id))

    def damaged_units(self) -> tuple[Path, ...]:
        """Spool files that could not be read and were set aside."""
        return self._spool.damaged()

    def _one(self, table: str, identity: str) -> dict[str, Any]:
        rows = self._rows(table, [identity])
        if not rows:
            raise UsageError(f"{identity} is not in {table} of {self.path}", "check the id")
        return rows[identity]

    def _rows(self, table: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Known rows by id, from the spool and the table."""
        waiting = self._waiting_rows()[table]
        found = {identity: waiting[identity] for identity in ids if identity in waiting}
        missing = [identity for identity in ids if identity not in found]
        if missing:
            found.update(views.rows_by_key(self.delta, table, missing))
        return found

    def _existing(self, table: str, ids: list[str]) -> set[str]:
        return set(views.rows_by_key(self.delta, table, ids, only_key=True)) if ids else set()

    def _waiting_rows(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Rows that wait in the spool, read once a process; our own are added as they are made."""
        if self._waiting is None:
            self._waiting = {table: {} for table in TABLES}
            for unit in self._spool.units():
                for table, rows in unit.rows.items():
                    key = TABLES[table].key
                    self._waiting[table].update({str(row[key]): row for row in rows})
        return self._waiting


def _batched(units: Iterator[SpooledUnit], size: int) -> Iterator[tuple[SpooledUnit, ...]]:
    while batch := tuple(islice(units, size)):
        yield batch
