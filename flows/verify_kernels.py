"""Flow: judge stored candidates that lack verdicts under the current gates and compilers."""

from __future__ import annotations

from prefect import flow

from kernelvault.agents.reverify import Reverified, pending_candidates
from kernelvault.settings import Settings, resolve
from tasks.cluster import Outcome, RayCluster
from tasks.corpus import commit
from tasks.shards import RUNNER, run_shards, verify_shard


def verify_pending(settings: Settings) -> tuple[Outcome[str, Reverified], ...]:
    """Judge what is pending on the open cluster."""
    pending = pending_candidates(settings)
    if not pending:
        return ()
    return tuple(run_shards(verify_shard, settings, pending, "stored candidates"))


@flow(
    name="verify-kernels",
    task_runner=RUNNER,
    validate_parameters=True,
)
def verify_kernels(settings: Settings | None = None) -> int:
    """Bring the verdicts of the whole corpus up to date; returns the number of faults.

    Args:
        settings: where and how to work; by default from the environment and kernelvault.toml.
    """
    chosen = settings or resolve()
    with RayCluster(chosen):
        outcomes = verify_pending(chosen)
    commit(chosen)
    return sum(outcome.error is not None for outcome in outcomes)
