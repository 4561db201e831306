"""What `run` shows: progress while it works, results and where to look at the end."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from kernelvault.cli.ask import ask
from kernelvault.cli.contract import JobReport, Progress
from kernelvault.cli.screen import table
from kernelvault.settings import Settings
from kernelvault.spec.preset import GATES
from kernelvault.store import Corpus

if TYPE_CHECKING:
    from kernelvault.agents.pipeline import UnitSummary

HINT = 'kernelvault query "SELECT * FROM samples LIMIT 5" --corpus'


class Board:
    """Progress bars on a terminal; in a pipe one line per finished stage."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal
        columns = (
            TextColumn("{task.description:20}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[label]}"),
        )
        self._bars = Bars(*columns, console=console, disable=not self._live)
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> Board:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def update(self, progress: Progress) -> None:
        """Show one report; safe to call from several threads."""
        if not self._live:
            if progress.done == progress.total:
                self._console.print(f"{progress.stage}: {progress.done} done")
            return
        if progress.stage not in self._tasks:
            self._tasks[progress.stage] = self._bars.add_task(progress.stage, label="")
        self._bars.update(
            self._bars.tasks[self._tasks[progress.stage]].id,
            completed=progress.done,
            total=progress.total,
            label=progress.label,
        )


def show_report(console: Console, report: JobReport, settings: Settings) -> None:
    """Results per problem, turned-down replays, faults, and where to look."""
    problems = sorted({unit.unit.problem for unit in report.units})
    with Corpus(settings.corpus).connection() as connection:
        families = {row["name"]: row["family"] for row in ask(connection, "families")}
        replays = ask(connection, "rejected_replays", problems=problems)
    columns = ("problem", "family", "attempts", "samples", "unsupported", *GATES[:3], "rejected")
    rows = [_row(name, families.get(name, ""), report.units) for name in problems]
    console.print(table(columns, rows, title="kernels (under a gate: how many it turned down)"))
    if replays:
        shown = [(*list(row.values())[:4], row["candidate_id"][:12]) for row in replays]
        names = ("problem", "shows", "gate", "reason", "candidate")
        console.print(table(names, shown, title="known-wrong kernels that were turned down"))
    _show_total(console, report)
    _show_faults(console, report)
    _show_where(console, report, settings)


def _row(problem: str, family: str, units: tuple[UnitSummary, ...]) -> tuple[object, ...]:
    mine = [unit for unit in units if unit.unit.problem == problem]
    failed = sum((Counter(unit.failed) for unit in mine), Counter())
    return (
        problem,
        family,
        sum(unit.attempts for unit in mine),
        sum(unit.passed for unit in mine),
        sum(unit.unsupported for unit in mine),
        *(failed[gate] for gate in GATES[:3]),
        ", ".join(sorted({unit.rejected for unit in mine if unit.rejected})),
    )


def _show_faults(console: Console, report: JobReport) -> None:
    for fault in report.faults:
        console.print(f"fault in {fault.unit}: {fault.cause}", style="red", markup=False)
        if fault.next_step:
            console.print(f"  next step: {fault.next_step}", markup=False)


def _show_where(console: Console, report: JobReport, settings: Settings) -> None:
    if report.faults:
        console.print("the rest was kept; run the same command again for what is missing")
    elif not report.changed:
        console.print("nothing changed: every attempt and verdict was already in the corpus")
    if report.release is not None:
        state = "unchanged" if report.release.unchanged else "new"
        console.print(f"release ({state}): {report.release.path}", markup=False)
    else:
        reason = "faults are open" if report.faults else "none was wanted, or no candidate passed"
        console.print(f"no release was cut: {reason}")
    console.print(f"look into it: {HINT} {settings.corpus}", markup=False)
    console.print("one candidate: kernelvault why CANDIDATE_ID", markup=False)
    console.print(f"run records:  kernelvault ui --corpus {settings.corpus}", markup=False)


def _show_total(console: Console, report: JobReport) -> None:
    attempts = sum(unit.attempts for unit in report.units)
    passed = sum(unit.passed for unit in report.units)
    reused = sum(unit.reused for unit in report.units)
    console.print(
        f"{passed} of {attempts} attempts passed every gate ({reused} were known already) "
        f"in {report.seconds:.0f} s"
    )
