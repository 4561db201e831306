"""Flow: the whole job, from problems to a checked release."""

from __future__ import annotations

import time

from prefect import flow
from prefect.task_runners import ThreadPoolTaskRunner

from flows.generate_kernels import generate
from flows.verify_kernels import verify_pending
from kernelvault.agents.pipeline import Unit, plan_units
from kernelvault.cli.contract import JobReport, UnitFault
from kernelvault.settings import Settings, resolve
from tasks.cluster import Outcome, RayCluster
from tasks.corpus import commit, cut_release
from tasks.progress import report
from tasks.shards import CONCURRENT_SHARDS


@flow(
    name="main-job",
    task_runner=ThreadPoolTaskRunner(max_workers=CONCURRENT_SHARDS),
    validate_parameters=True,
)
def main_job(
    settings: Settings | None = None,
    problems: list[str] | None = None,
    languages: list[str] | None = None,
    limit: int | None = None,
    channel: str | None = "preview",
) -> JobReport:
    """Generate kernels, bring old verdicts up to date, commit, check and release.

    Candidates that fail and units that end in faults are reported, not raised. No release is cut
    while faults are open: it would lack what they would have given.

    Args:
        settings: where and how to work; by default from the environment and kernelvault.toml.
        problems: names of built-in problems; all of them by default.
        languages: what to write kernels in; HIP by default.
        limit: at most so many problems.
        channel: the release to cut; none when null.
    """
    started = time.monotonic()
    chosen = settings or resolve()
    new_rows = commit(chosen)  # What an interrupted run left spooled.
    units = plan_units(chosen, problems, tuple(languages or ("hip",)), limit)
    report("cluster", 0, 1)
    with RayCluster(chosen):
        report("cluster", 1, 1)
        generated = generate(chosen, units)
        new_rows += commit(chosen)
        verified = verify_pending(chosen)
        new_rows += commit(chosen)
    faults = [_fault(o, o.unit.key) for o in generated if o.error]
    faults += [_fault(o, o.unit) for o in verified if o.error]
    release = None
    if channel and not faults:
        report("release", 0, 1)
        release = cut_release(chosen, channel)
        report("release", 1, 1, release.path.name)
    summaries = tuple(o.value for o in generated if o.value is not None)
    return JobReport(summaries, tuple(faults), new_rows, release, time.monotonic() - started)


def _fault(outcome: Outcome[Unit, object] | Outcome[str, object], key: str) -> UnitFault:
    assert outcome.error is not None
    return UnitFault(key, outcome.error.cause, outcome.error.next_step)
