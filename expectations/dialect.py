"""A SQLAlchemy dialect `duckdb+gx` in true autocommit.

Great Expectations fetches rows after it has closed the connection, and DuckDB drops pending results
on the ROLLBACK that closing sends; so begin, commit and rollback do nothing here.
"""

from __future__ import annotations

from typing import Any

import duckdb_engine
from sqlalchemy.dialects import registry


class CheckpointDialect(duckdb_engine.Dialect):
    """DuckDB without transactions, for reading alone."""

    supports_statement_cache = False

    def do_begin(self, connection: Any) -> None:
        """Nothing to begin."""

    def do_commit(self, connection: Any) -> None:
        """Nothing to commit."""

    def do_rollback(self, connection: Any) -> None:
        """Nothing to roll back."""


def register() -> None:
    """Make `duckdb+gx://` known to SQLAlchemy."""
    registry.register("duckdb.gx", __name__, CheckpointDialect.__name__)
