"""`kernelvault why`: everything the corpus knows about one candidate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from kernelvault.cli import options
from kernelvault.cli.ask import ask
from kernelvault.cli.evidence import blamed_lines, details
from kernelvault.cli.faults import reported
from kernelvault.cli.screen import outcome, screen, table
from kernelvault.errors import UsageError
from kernelvault.settings import Settings

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MIN_PREFIX = 4


def why(
    identity: Annotated[
        str, typer.Argument(metavar="ID", help="Candidate, attempt or verification; or its start")
    ],
    corpus: options.Corpus = None,
    config: options.Config = None,
) -> None:
    """Show why a candidate passed or failed: gates, reasons, where, its source."""
    with reported():
        from kernelvault.store import Corpus

        chosen = options.settings(config, corpus=corpus)
        if not chosen.corpus.is_dir():
            raise UsageError(f"there is no corpus {chosen.corpus}", "give --corpus, or `run` first")
        connection = Corpus(chosen.corpus).connection()
        candidate = _find(connection, identity)
        _show(screen(), chosen, connection, candidate)


def _find(connection: DuckDBPyConnection, identity: str) -> str:
    if len(identity) < MIN_PREFIX:
        raise UsageError(f"{identity!r} is too short", f"give at least {MIN_PREFIX} characters")
    found = [row["candidate_id"] for row in ask(connection, "find", prefix=identity)]
    if not found:
        raise UsageError(
            f"nothing in the corpus has an id that starts with {identity}",
            'see `kernelvault query "SELECT candidate_id FROM candidates"`',
        )
    if len(found) > 1:
        raise UsageError(f"{identity} names {len(found)} candidates", f"one of {', '.join(found)}")
    return str(found[0])


def _show(
    console: Console, settings: Settings, connection: DuckDBPyConnection, identity: str
) -> None:
    candidate = ask(connection, "candidate", id=identity)[0]
    console.print(f"candidate {identity}", style="bold")
    console.print(
        f"problem {candidate['problem']} ({candidate['family']}), {candidate['language']}, "
        f"licence {candidate['license_spdx']}"
    )
    for attempt in ask(connection, "attempts", id=identity):
        label = f", meant to show {attempt['label']}" if attempt["label"] else ""
        console.print(
            f"attempt {attempt['attempt_id'][:16]}: {attempt['agent']} "
            f"{attempt['agent_version']}, turn {attempt['turn']}{label}\n"
            f"  schedule {attempt['schedule']}\n  had seen {attempt['feedback']}",
            markup=False,
        )
    rows, blamed = [], {}
    for verification in ask(connection, "verifications", id=identity):
        for verdict in verification["verdicts"]:
            evidence = json.loads(verdict["evidence"])
            said = [verdict["reason"], *details(verdict["gate"], evidence)]
            text = "\n".join(dict.fromkeys(line for line in said if line))
            name = f"{verification['target']} ({verification['tier']})"
            rows.append((name, verdict["gate"], outcome(verdict["outcome"]), text))
            if verdict["outcome"] != "passed":
                blamed.update(blamed_lines(verdict["gate"], evidence))
    console.print(table(("target", "gate", "outcome", "reason"), rows))
    bundle = settings.corpus / "bundles" / identity[:16]
    if bundle.is_dir():
        console.print(f"to see it again: {bundle}/rerun.sh", markup=False)
    _show_source(console, candidate["source"], blamed)


def _show_source(console: Console, source: str, blamed: dict[int, str]) -> None:
    """The source with line numbers; lines a gate pointed at are marked and explained."""
    for number, line in enumerate(source.splitlines(), 1):
        if number in blamed:
            console.print(Text(f">{number:4} {line}", style="red"))
            console.print(Text(f"      ^ {blamed[number]}", style="yellow"))
        else:
            console.print(Text(f" {number:4} {line}"))
