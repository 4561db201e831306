"""Delta tables: appends that happen once, and the list of files that are current.

delta-rs keeps threads of its own and fails in a forked process: a process that forks must do so
before it touches a table, or use `spawn`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from kernelvault.errors import StoreFault
from schemas import TABLES

_RETRIES = 30


def damaged(cause: str) -> StoreFault:
    """The fault of a data file that cannot be read."""
    return StoreFault(
        f"a file of the corpus cannot be read: {cause}",
        "restore the file from a backup, or start a new corpus with --corpus",
    )


class DeltaStore:
    """The tables of one corpus."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()

    @property
    def folder(self) -> Path:
        return self._folder

    def path(self, table: str) -> Path:
        return self._folder / table

    def open(self, table: str) -> DeltaTable | None:
        """The table, None when nothing was ever written to it.

        Raises StoreFault when its log cannot be read.
        """
        try:
            return DeltaTable(str(self.path(table)))
        except TableNotFoundError:
            return None
        except (DeltaError, OSError, ValueError) as error:
            raise StoreFault(
                f"table {table} in {self._folder} cannot be opened: {error}",
                "restore the folder from a backup, or start a new corpus with --corpus",
            ) from error

    def files(self, table: str) -> list[str]:
        """Current data files; a live folder also holds superseded ones, so it is never globbed.

        Raises StoreFault when one is missing or has not the size that the log knows.
        """
        opened = self.open(table)
        if opened is None:
            return []
        actions = pa.table(opened.get_add_actions()).select(["path", "size_bytes"]).to_pylist()
        sizes = {self.path(table) / unquote(a["path"]): a["size_bytes"] for a in actions}
        for path, size in sizes.items():
            found = path.stat().st_size if path.is_file() else None
            if found != size:
                state = "is missing" if found is None else f"has {found} bytes, not {size}"
                raise damaged(f"{path} {state}")
        return sorted(map(str, sizes))

    def version(self, table: str) -> int | None:
        """The table's version, None when it does not exist."""
        opened = self.open(table)
        return opened.version() if opened else None

    def append(self, table: str, rows: Sequence[dict[str, Any]], transaction: str) -> bool:
        """Append rows once per `transaction`; False when that transaction is already there.

        Raises StoreFault when the folder cannot be written.
        """
        definition = TABLES[table]
        try:
            opened = self.open(table) or self._create(table)
            if opened.transaction_version(transaction) is not None:
                return False
            ordered = sorted(rows, key=lambda row: str(row[definition.key]))
            write_deltalake(
                opened,
                pa.Table.from_pylist(ordered, schema=definition.schema),
                mode="append",
                commit_properties=CommitProperties(
                    app_transactions=[Transaction(transaction, 1)], max_commit_retries=_RETRIES
                ),
            )
        except CommitFailedError as error:
            # The library's way of saying that another process made this very transaction.
            if "Concurrent transaction" in str(error):
                return False
            raise self._unwritable(table, error) from error
        except (DeltaError, OSError) as error:
            raise self._unwritable(table, error) from error
        return True

    def _create(self, table: str) -> DeltaTable:
        definition = TABLES[table]
        self.path(table).mkdir(parents=True, exist_ok=True)
        return DeltaTable.create(
            str(self.path(table)),
            schema=definition.schema,
            mode="ignore",
            partition_by=list(definition.partition_by),
        )

    def _unwritable(self, table: str, error: Exception) -> StoreFault:
        return StoreFault(
            f"table {table} in {self._folder} cannot be written: {error}",
            "free space or make the folder writable; finished units wait in the spool, so the same"
            " command loses nothing",
        )
