"""Reading a release folder as views, and the digest of what it says."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import duckdb

from kernelvault.hashing import content_id
from kernelvault.store.functions import register_functions
from kernelvault.store.views import define_views
from schemas import TABLES

LAYOUT_VERSION = 1


def open_release(folder: Path, channel: str) -> duckdb.DuckDBPyConnection:
    """A database with a view for each released table, `released_samples`, and the views of a
    corpus derived again from the released tables.

    Raises duckdb.Error when files are missing or unreadable.
    """
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    register_functions(connection)
    for name, table in TABLES.items():
        _attach(connection, folder, name, name, table.schema.names)
    define_views(connection, channel)
    columns = connection.table("samples").columns
    _attach(connection, folder, "samples", "released_samples", columns)
    return connection


def content_digest(connection: duckdb.DuckDBPyConnection, channel: str) -> str:
    """SHA-256 over ids and outcomes: equal wherever and whenever the same work was done."""
    rows = connection.execute(read_sql("content")).fetchall()
    return content_id("release", [LAYOUT_VERSION, channel, [list(row) for row in rows]])


def family_counts(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Released samples per family."""
    return dict(connection.execute(read_sql("families")).fetchall())


def read_sql(name: str) -> str:
    """The text of a packaged SQL file."""
    return (files("kernelvault.release") / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def _attach(
    connection: duckdb.DuckDBPyConnection, folder: Path, name: str, view: str, columns: list[str]
) -> None:
    data = sorted(str(file) for file in (folder / "data" / name).rglob("*.parquet"))
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in data)
    names = ", ".join(f'"{column}"' for column in columns)
    connection.execute(
        f"CREATE VIEW {view} AS SELECT {names} FROM"
        f" read_parquet([{listed}], hive_partitioning = true, hive_types_autocast = false)"
    )
