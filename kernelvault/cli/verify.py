"""`kernelvault verify`: one candidate file against one problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelvault.cli import options
from kernelvault.cli.evidence import details
from kernelvault.cli.faults import reported
from kernelvault.cli.screen import outcome, screen, table
from kernelvault.errors import UsageError

if TYPE_CHECKING:
    from kernelvault.verification.files import VerifyReport

TIERS_HERE = ("emulated",)


def verify(
    problem: Annotated[str, typer.Argument(help="A built-in problem's name, or a problem file")],
    candidate: Annotated[Path, typer.Argument(help="The kernel source: .hip or .py (Triton)")],
    target: options.Targets = None,
    tier: Annotated[str, typer.Option("--tier", help="Where to run it: emulated")] = "emulated",
    preset: Annotated[str | None, typer.Option("--preset", help="The set of gates")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON record")] = False,
    sandbox: options.Sandbox = None,
    corpus: options.Corpus = None,
    cache: options.Cache = None,
    config: options.Config = None,
) -> None:
    """Run every gate on a kernel. Exit code: 0 passed, 1 a gate failed, 2 bad input, 3 a fault."""
    with reported(as_json):
        from kernelvault.spec.preset import get_preset
        from kernelvault.verification.files import verify_files

        if tier not in TIERS_HERE:
            known = ", ".join(TIERS_HERE)
            raise UsageError(f"tier {tier!r} cannot run on this machine", f"choose from {known}")
        chosen = options.settings(
            config, targets=options.split(target), preset=preset, sandbox=sandbox,
            corpus=corpus, cache=cache,
        )  # fmt: skip
        get_preset(chosen.preset)
        report = verify_files(chosen, problem, candidate, chosen.targets)
        if as_json:
            bundle = str(report.bundle) if report.bundle else None
            typer.echo(json.dumps({**report.to_json(), "bundle": bundle}))
        else:
            _show(report)
        raise typer.Exit(report.exit_code)


def _show(report: VerifyReport) -> None:
    record = report.to_json()
    rows = [
        (target["target"], verdict["gate"], outcome(verdict["outcome"]), verdict["reason"])
        for target in record["targets"]
        for verdict in target["verdicts"]
    ]
    console = screen()
    console.print(table(("target", "gate", "outcome", "reason"), rows))
    seen: set[str] = set()
    for target in record["targets"]:
        for verdict in target["verdicts"]:
            for line in details(verdict["gate"], verdict["evidence"]):
                if line not in seen:
                    seen.add(line)
                    console.print(f"  {line}", markup=False)
    console.print("passed" if record["passed"] else "failed", style="bold")
    if report.bundle:
        console.print(f"to see it again: {report.bundle}/rerun.sh", markup=False)
