"""The command line's own questions to the corpus; their SQL lies in `sql/`."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Rows = list[dict[str, Any]]


def ask(connection: DuckDBPyConnection, name: str, **values: str | list[str]) -> Rows:
    """Rows of `sql/<name>.sql` with its parameters bound."""
    text = (resources.files("kernelvault.cli") / "sql" / f"{name}.sql").read_text()
    cursor = connection.execute(text, values)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
