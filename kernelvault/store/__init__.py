"""The corpus: spooled units, Delta tables over Parquet, DuckDB views."""

from kernelvault.store.corpus import CommitReport, Corpus

__all__ = ["CommitReport", "Corpus"]
