"""Releases: immutable, checked exports of a corpus that plain DuckDB can query."""

from kernelvault.release.create import Release, create
from kernelvault.release.verify import ReleaseProblem, ReleaseReport, verify

__all__ = ["Release", "ReleaseProblem", "ReleaseReport", "create", "verify"]
