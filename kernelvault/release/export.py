"""Tables of a release: sorted rows, fixed writer settings, so equal corpora give equal bytes."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas import TABLES

PARTITIONS = {
    "samples": ("language",),
    **{name: table.partition_by for name, table in TABLES.items()},
}
KEYS = {"samples": "candidate_id", **{name: table.key for name, table in TABLES.items()}}


def export_tables(connection: duckdb.DuckDBPyConnection, folder: Path) -> dict[str, int]:
    """Write `samples` and every table under `folder/data`; returns rows per table."""
    connection.execute("SET TimeZone = 'UTC'")
    counts = {}
    for name, partition in PARTITIONS.items():
        table = connection.table(name).to_arrow_table().sort_by(KEYS[name])
        if name in TABLES:
            table = table.cast(TABLES[name].schema)
        _write(table, folder / "data" / name, partition)
        counts[name] = table.num_rows
    return counts


def _write(table: pa.Table, folder: Path, partition: tuple[str, ...]) -> None:
    """One file for each value of the partition columns, which live in the path alone."""
    if not partition or table.num_rows == 0:
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / "part-0.parquet", compression="zstd")
        return
    column, rest = partition[0], partition[1:]
    for value in sorted(pc.unique(table[column]).to_pylist()):
        rows = table.filter(pc.equal(table[column], value)).drop_columns(column)
        _write(rows, folder / f"{column}={value}", rest)
