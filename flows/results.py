"""The results table of a run, as an artifact beside the run in the Prefect pages."""

from __future__ import annotations

from collections.abc import Sequence

from prefect.artifacts import create_table_artifact

from kernelvault.agents.pipeline import Unit, UnitSummary
from kernelvault.spec.preset import GATES
from tasks.cluster import Outcome


def publish_results(outcomes: Sequence[Outcome[Unit, UnitSummary]]) -> None:
    """One row per unit: attempts, samples and what each gate turned down, or the fault."""
    rows = [_row(outcome) for outcome in sorted(outcomes, key=lambda outcome: outcome.unit.key)]
    create_table_artifact(
        key="kernels", table=rows, description="Attempts, samples and rejections per unit"
    )


def _row(outcome: Outcome[Unit, UnitSummary]) -> dict[str, str | int]:
    unit, summary = outcome.unit, outcome.value
    row: dict[str, str | int] = {
        "problem": unit.problem,
        "language": unit.language,
        "agent": unit.agent,
    }
    if summary is None:
        return {**row, "fault": outcome.error.cause if outcome.error else ""}
    row.update(attempts=summary.attempts, unsupported=summary.unsupported, samples=summary.passed)
    row.update({f"failed {gate}": summary.failed.get(gate, 0) for gate in GATES})
    return {**row, "rejected": summary.rejected or "", "fault": ""}
