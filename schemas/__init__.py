"""Arrow schemas: the single source of truth for every table."""

from schemas.tables import TABLES, TableSchema

__all__ = ["TABLES", "TableSchema"]
