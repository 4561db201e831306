"""Flow: the whole job, from problems to a checked release."""

from __future__ import annotations

import time

from prefect import flow

from flows.generate_kernels import generate
from flows.verify_kernels import verify_pending
from kernelvault.agents.pipeline import plan_units
from kernelvault.cli.contract import JobReport, UnitFault
from kernelvault.errors import CorpusInvalid, KernelVaultError
from kernelvault.settings import Settings, resolve
from tasks.cluster import RayCluster
from tasks.corpus import commit, cut_release
from tasks.progress import report
from tasks.shards import RUNNER


@flow(
    name="main-job",
    task_runner=RUNNER,
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
        languages: what to write kernels in; those of the settings by default.
        limit: at most so many problems.
        channel: the release to cut; none when null.
    """
    started = time.monotonic()
    chosen = settings or resolve()
    grown = commit(chosen)  # What an interrupted run left spooled.
    units = plan_units(chosen, problems, languages, limit)
    report("cluster", 0, 1)
    with RayCluster(chosen):
        report("cluster", 1, 1)
        generated = generate(chosen, units)
        grown |= commit(chosen)
        verified = verify_pending(chosen)
        grown |= commit(chosen)
    faults = [_fault(o.unit.key, o.error) for o in generated if o.error]
    faults += [_fault(o.unit, o.error) for o in verified if o.error]
    release = None
    if channel and not faults:
        report("release", 0, 1)
        try:
            release = cut_release(chosen, channel)
        except CorpusInvalid as error:
            faults.append(_fault("release", error))  # The run's results are still worth a report.
        report("release", 1, 1)
    summaries = tuple(o.value for o in generated if o.value is not None)
    return JobReport(summaries, tuple(faults), grown, release, time.monotonic() - started)


def _fault(unit: str, error: KernelVaultError) -> UnitFault:
    return UnitFault(unit, error.cause, error.next_step)
