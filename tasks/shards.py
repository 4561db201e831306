"""Shards of units: one Prefect task each, a Ray fan-out inside.

A Prefect task costs tens of milliseconds and a row in its server; one per kernel would drown both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeVar

from prefect import task
from prefect.task_runners import ThreadPoolTaskRunner

from kernelvault.agents.pipeline import Unit, UnitSummary, run_unit
from kernelvault.agents.reverify import Reverified, verify_candidate
from kernelvault.settings import Settings
from tasks.cluster import Outcome, map_units, stop_all
from tasks.policy import CACHE, RETRIES, RETRY_DELAY_S, worth_retrying
from tasks.progress import report

T = TypeVar("T")

MIN_SHARD = 12
# While one shard drains its last units the next keeps the processors busy.
# Typed Any: Prefect takes runners of one kind of future only, which no runner it ships has.
RUNNER: Any = ThreadPoolTaskRunner(max_workers=2)

Ticks = Callable[[str], None]


def split(units: Sequence[T], workers: int) -> list[tuple[T, ...]]:
    """Consecutive shards of at least 12 units, more when many run at once."""
    size = max(MIN_SHARD, 4 * workers)
    return [tuple(units[at : at + size]) for at in range(0, len(units), size)]


@task(
    name="generate-shard",
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAY_S,
    retry_condition_fn=worth_retrying,
    cache_policy=CACHE,
)
def generate_shard(
    settings: Settings, units: tuple[Unit, ...], tick: Ticks
) -> list[Outcome[Unit, UnitSummary]]:
    """Let agents work on the units of a shard; one outcome per unit, faults included."""
    outcomes = []
    for outcome in map_units(partial(run_unit, settings), units, in_flight=settings.workers):
        tick(outcome.unit.key)
        outcomes.append(outcome)
    return outcomes


@task(
    name="verify-shard",
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAY_S,
    retry_condition_fn=worth_retrying,
    cache_policy=CACHE,
)
def verify_shard(
    settings: Settings, candidates: tuple[str, ...], tick: Ticks
) -> list[Outcome[str, Reverified]]:
    """Judge stored candidates that lack verdicts; one outcome each, faults included."""
    outcomes = []
    judge = partial(verify_candidate, settings)
    for outcome in map_units(judge, candidates, in_flight=settings.workers):
        tick(outcome.unit[:12])
        outcomes.append(outcome)
    return outcomes


def run_shards(
    shard_task: Any, settings: Settings, units: Sequence[Any], stage: str
) -> list[Outcome[Any, Any]]:
    """Run a shard task over all units, a few shards at a time, with progress under `stage`.

    An interrupt cancels what runs on the cluster; finished attempts are already on disk.
    """
    counter, total = count(1), len(units)
    report(stage, 0, total)

    def tick(label: str) -> None:
        report(stage, next(counter), total, label)

    futures = [shard_task.submit(settings, s, tick) for s in split(units, settings.workers)]
    try:
        return [outcome for future in futures for outcome in future.result()]
    except BaseException:  # Also KeyboardInterrupt: the shards' threads must end before we can.
        stop_all()
        raise
