"""The release checkpoint: every suite over one corpus or release.

Great Expectations takes seconds to import, so it is imported when a checkpoint runs.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

SUITES = ("samples", "requirements", "verdicts", "verifications", "candidates", "problems")


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """One expectation's result. `offending` has a line for each row that broke it (at most 200)."""

    suite: str
    name: str
    description: str
    passed: bool
    unexpected_count: int
    offending: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """Results of every expectation, in the order of the suites."""

    results: tuple[ExpectationResult, ...]

    @property
    def passed(self) -> bool:
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def failures(self) -> tuple[ExpectationResult, ...]:
        return tuple(result for result in self.results if not result.passed)


def run_checkpoint(
    connection: duckdb.DuckDBPyConnection, suites: Sequence[str] = SUITES
) -> CheckpointReport:
    """Run suites over the views of `connection`.

    The connection must have the corpus views, the channel tables and the functions `kv_outcome`,
    `kv_candidate_id`, `kv_problem_id` and `kv_verification_id`. An expectation that cannot be
    evaluated counts as failed.
    """
    with tempfile.TemporaryDirectory(prefix="kv-checkpoint-") as folder:
        database = Path(folder) / "checked.duckdb"
        _materialise(connection, database)
        context = _context()
        source = context.data_sources.add_sql(
            name="checked", connection_string=f"duckdb+gx:///{database}"
        )
        try:
            results = [result for name in suites for result in _run_suite(context, source, name)]
        finally:
            source.get_engine().dispose()
        return CheckpointReport(tuple(results))


def _materialise(connection: duckdb.DuckDBPyConnection, database: Path) -> None:
    """Write the tables of the suites to a file: functions do not outlive their connection."""
    script = (files("expectations") / "sql" / "checked.sql").read_text(encoding="utf-8")
    connection.execute(f"ATTACH '{database}' AS checked")
    try:
        connection.execute(script)
    finally:
        connection.execute("DETACH checked")


def _context() -> Any:
    """An empty Great Expectations context that writes nothing and sends nothing."""
    # Read when the package is imported; nothing about a corpus may leave the machine.
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    from expectations.dialect import register

    register()
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        progress_bars=ProgressBarsConfig(globally=False),
        analytics_enabled=False,
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def _run_suite(context: Any, source: Any, name: str) -> tuple[ExpectationResult, ...]:
    import great_expectations as gx

    text = (files("expectations") / "suites" / f"{name}.json").read_text(encoding="utf-8")
    data = json.loads(text)
    suite = context.suites.add(gx.ExpectationSuite(**data))
    asset = source.add_table_asset(name, table_name=data["meta"]["table"])
    batch = asset.add_batch_definition_whole_table("all")
    validation = gx.ValidationDefinition(name=name, data=batch, suite=suite)
    outcome = context.validation_definitions.add(validation).run(result_format="COMPLETE")
    return tuple(_result(name, result) for result in outcome.results)


def _result(suite: str, result: Any) -> ExpectationResult:
    config = result.expectation_config
    rows = result.result.get("details", {}).get("unexpected_rows") or []
    offending = [", ".join(f"{key} {value}" for key, value in dict(row).items()) for row in rows]
    observed = result.result.get("observed_value")
    passed = bool(result.success)
    if not passed and not offending:
        offending = [f"observed {observed}" if observed is not None else "could not be evaluated"]
    count = observed if isinstance(observed, int) and rows else len(offending)
    description = config.description or config.kwargs.get("description") or ""
    return ExpectationResult(
        suite, config.meta["name"], description, passed, 0 if passed else count, tuple(offending)
    )
