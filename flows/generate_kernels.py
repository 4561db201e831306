"""Flow: agents write and verify kernels for problems."""

from __future__ import annotations

from prefect import flow

from flows.results import publish_results
from kernelvault.agents.context import warm_up
from kernelvault.agents.pipeline import Unit, UnitSummary, plan_units
from kernelvault.settings import Settings, resolve
from tasks.cluster import Outcome, RayCluster
from tasks.corpus import commit
from tasks.shards import RUNNER, generate_shard, run_shards


def generate(settings: Settings, units: tuple[Unit, ...]) -> tuple[Outcome[Unit, UnitSummary], ...]:
    """Work on the units on the open cluster and publish the table of results."""
    outcomes = tuple(run_shards(generate_shard, settings, units, "kernels"))
    publish_results(outcomes)
    return outcomes


@flow(
    name="generate-kernels",
    task_runner=RUNNER,
    validate_parameters=True,
)
def generate_kernels(
    settings: Settings | None = None,
    problems: list[str] | None = None,
    languages: list[str] | None = None,
    limit: int | None = None,
) -> int:
    """Generate, verify and store kernels; returns the number of units that ended in a fault.

    Args:
        settings: where and how to work; by default from the environment and kernelvault.toml.
        problems: names of built-in problems; all of them by default.
        languages: what to write kernels in; those of the settings by default.
        limit: at most so many problems.
    """
    chosen = settings or resolve()
    units = plan_units(chosen, problems, languages, limit)
    warm_up(chosen, languages)
    with RayCluster(chosen):
        outcomes = generate(chosen, units)
    commit(chosen)
    return sum(outcome.error is not None for outcome in outcomes)
