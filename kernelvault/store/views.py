"""DuckDB over the current files of the Delta tables."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import duckdb
import pyarrow as pa

from expectations.channels import load_channel
from kernelvault.store.delta import DeltaStore, damaged
from kernelvault.store.functions import register_functions
from schemas import TABLES

_VIEWS = ("verdicts", "latest_verifications", "admitted_verifications", "samples", "sample_targets")


def connect(store: DeltaStore, channel: str = "preview") -> duckdb.DuckDBPyConnection:
    """An in-memory database with views `problems`, `workloads`, `candidates`, `attempts`,
    `verifications`, `rejects`, `verdicts`, `latest_verifications`, `admitted_verifications`,
    `samples`, `sample_targets`.

    `samples` holds what passed every gate that `channel` requires.
    """
    connection = duckdb.connect()
    register_functions(connection)
    for table in TABLES:
        _table_view(connection, table, store.files(table))
    define_views(connection, channel)
    return connection


def define_views(connection: duckdb.DuckDBPyConnection, channel: str) -> None:
    """Create the derived views over tables that exist; `channel` decides what a sample is."""
    policy = load_channel(channel)
    connection.execute("CREATE TABLE channel_tiers (tier TEXT)")
    connection.execute("CREATE TABLE channel_requirements (gate TEXT, target TEXT)")
    connection.executemany("INSERT INTO channel_tiers VALUES (?)", [[t] for t in policy.tiers])
    connection.execute("CREATE TABLE channel_sandboxes (sandbox TEXT)")
    sandboxes = [[s] for s in policy.sandboxes]
    connection.executemany("INSERT INTO channel_sandboxes VALUES (?)", sandboxes)
    required = [[r.gate, r.target] for r in policy.required]
    connection.executemany("INSERT INTO channel_requirements VALUES (?, ?)", required)
    for view in _VIEWS:
        connection.execute(read_sql(view))


def rows_by_key(
    store: DeltaStore, table: str, ids: Sequence[str], only_key: bool = False
) -> dict[str, dict[str, Any]]:
    """Rows of a table by their key; `only_key` reads nothing but the key column."""
    current = store.files(table)
    if not current:
        return {}
    with duckdb.connect() as connection:
        _table_view(connection, table, current)
        key = TABLES[table].key
        columns = key if only_key else "*"
        found = _execute(
            connection,
            f"SELECT {columns} FROM {table} WHERE {key} IN (SELECT unnest(?::TEXT[]))",
            [list(ids)],
        )
        rows: list[dict[str, Any]] = found.to_arrow_table().to_pylist()
    return {str(row[key]): row for row in rows}


def read_sql(name: str) -> str:
    """The text of a packaged SQL file."""
    return (files("kernelvault.store") / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def _table_view(connection: duckdb.DuckDBPyConnection, table: str, current: list[str]) -> None:
    schema: pa.Schema = TABLES[table].schema
    if not current:
        connection.from_arrow(schema.empty_table()).create(table)
        return
    names = ", ".join(f'"{name}"' for name in schema.names)
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in current)
    _execute(
        connection,
        f"CREATE VIEW {table} AS SELECT {names} FROM"
        f" read_parquet([{listed}], hive_partitioning = true, hive_types_autocast = false)",
        [],
    )


def _execute(connection: duckdb.DuckDBPyConnection, sql: str, values: list[Any]) -> Any:
    try:
        # `sql` with parameters gives a relation at once, and None for a statement without rows.
        return connection.sql(sql, params=values)
    except duckdb.Error as error:
        raise damaged(str(error).splitlines()[0]) from error
