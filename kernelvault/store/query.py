"""Read-only SQL over a corpus, as a table or as bytes of a common format."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from kernelvault.errors import UsageError
from kernelvault.store.corpus import Corpus
from kernelvault.store.delta import damaged


def run_query(corpus: Corpus, sql: str) -> pa.Table:
    """The result of one SELECT-like statement over the corpus views.

    It sees the corpus and no other file. Raises UsageError with DuckDB's own message for SQL it
    cannot run and for several statements, StoreFault for a damaged file of the corpus.
    """
    connection = corpus.connection()
    tables = f"{corpus.delta.folder}/"
    connection.execute("SET allowed_directories = ?", [[tables]])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    try:
        statements = duckdb.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise UsageError("give exactly one SELECT statement", "split it, or drop what writes")
        return connection.sql(statements[0]).to_arrow_table()
    except duckdb.Error as error:
        if tables in str(error):
            raise damaged(str(error).splitlines()[0]) from error
        views = "problems, candidates, attempts, verifications, verdicts, samples, sample_targets"
        raise UsageError(
            f"DuckDB: {error}", f"the views are {views}, rejects, workloads"
        ) from error


def encode(table: pa.Table, form: str) -> bytes:
    """A result as `csv`, `json` (one array) or `parquet` bytes; raises UsageError for others."""
    try:
        return _ENCODERS[form](table)
    except KeyError:
        known = ", ".join(_ENCODERS)
        raise UsageError(f"no format {form!r}", f"choose from table, {known}") from None


def _csv(table: pa.Table) -> bytes:
    """Nested values become JSON text, since CSV has no lists."""
    columns = [
        pa.array([None if v is None else _json_text(v) for v in column.to_pylist()])
        if pa.types.is_nested(column.type)
        else column
        for column in table.columns
    ]
    flat = pa.table(columns, names=table.column_names)
    sink = io.BytesIO()
    pyarrow.csv.write_csv(flat, sink)
    return sink.getvalue()


def _json(table: pa.Table) -> bytes:
    return (_json_text(table.to_pylist()) + "\n").encode()


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _json_text(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


_ENCODERS: dict[str, Callable[[pa.Table], bytes]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
