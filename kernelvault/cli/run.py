"""`kernelvault run` and `kernelvault ui`: the main job through the installed orchestrator."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelvault.cli import options
from kernelvault.cli.contract import JobRequest, MainJob, OpenUi
from kernelvault.cli.faults import reported
from kernelvault.cli.screen import errors, screen, table
from kernelvault.errors import OrchestrationFault

if TYPE_CHECKING:
    from kernelvault.agents.pipeline import Unit

GROUP = "kernelvault.flows"
FAULTS = 3


def run(
    problems: Annotated[
        str | None, typer.Option("--problems", help="Names, comma-separated [default: all]")
    ] = None,
    languages: Annotated[
        str | None, typer.Option("--languages", help="Comma-separated [default: hip,triton]")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many problems")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Units at a time [default: one per core]")
    ] = None,
    attempts: Annotated[
        int | None, typer.Option("--attempts", min=1, help="Most attempts of an agent on a problem")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the agents")] = None,
    target: options.Targets = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, touch nothing")
    ] = False,
    no_release: Annotated[bool, typer.Option("--no-release", help="Cut no release")] = False,
    sandbox: options.Sandbox = None,
    corpus: options.Corpus = None,
    releases: options.Releases = None,
    cache: options.Cache = None,
    config: options.Config = None,
) -> None:
    """Generate kernels, verify them, store verdicts, cut a release.

    Exit code: 0 done (also when candidates failed), 2 bad usage, 3 faults, 130 interrupted.
    """
    with reported(resume="what was finished is kept; run the same command to resume"):
        chosen = options.settings(
            config, jobs=jobs, attempts=attempts, seed=seed, targets=options.split(target),
            sandbox=sandbox, corpus=corpus, releases=releases, cache=cache,
        )  # fmt: skip
        request = JobRequest(
            chosen, options.split(problems), options.split(languages), limit, not no_release
        )
        from kernelvault.agents.pipeline import plan_units
        from kernelvault.sandbox import BACKENDS
        from kernelvault.spec.preset import get_preset

        get_preset(chosen.preset)
        if chosen.sandbox not in BACKENDS:
            from kernelvault.sandbox import open_sandbox

            open_sandbox(chosen.sandbox)  # Raises, naming the known ones.
        units = plan_units(chosen, request.problems, request.languages, limit)
        if dry_run:
            _show_plan(request, units)
            return
        from kernelvault.cli.results import Board, show_report

        job: MainJob = _entry_point("main_job")
        with Board(errors()) as board:
            report = job(request, board.update)
        show_report(screen(), report, chosen)
        if report.faults:
            raise typer.Exit(FAULTS)


def ui(corpus: options.Corpus = None, config: options.Config = None) -> None:
    """Serve the pages about past runs until Ctrl-C."""
    with reported():
        open_ui: OpenUi = _entry_point("ui")
        console = screen()
        open_ui(
            options.settings(config, corpus=corpus),
            lambda page: console.print(f"runs of this corpus: {page}   (Ctrl-C ends it)"),
        )


def _entry_point(name: str) -> Any:
    for found in entry_points(group=GROUP, name=name):
        return found.load()
    raise OrchestrationFault(
        f"no orchestrator is installed (entry point {name!r} of group {GROUP!r})",
        "pip install kernelvault (kernelvault[core] alone verifies, it does not run flows)",
    )


def _show_plan(request: JobRequest, units: tuple[Unit, ...]) -> None:
    chosen, console = request.settings, screen()
    rows = [(unit.problem, unit.language, unit.agent) for unit in units]
    console.print(table(("problem", "language", "agent"), rows))
    facts = {
        "units": len(units),
        "at a time": chosen.workers,
        "targets": ", ".join(chosen.targets),
        "preset": chosen.preset,
        "tier": "emulated",
        "sandbox": chosen.sandbox,
        "seed": chosen.seed,
        "corpus": chosen.corpus,
        "release": f"preview, in {chosen.releases}" if request.release else "none",
    }
    console.print(table(("plan", ""), facts.items()))
    console.print("dry run: nothing was touched")
