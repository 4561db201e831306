"""`kernelvault release`: cut a release of the corpus, check one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelvault.cli import options
from kernelvault.cli.faults import reported
from kernelvault.cli.screen import screen, table

app = typer.Typer(help="Create and verify releases.", no_args_is_help=True)


@app.command()
def create(
    channel: Annotated[str, typer.Option("--channel", help="The release's policy")] = "preview",
    corpus: options.Corpus = None,
    releases: options.Releases = None,
    config: options.Config = None,
) -> None:
    """Check the corpus and cut a release of it; an equal release is not cut again."""
    with reported():
        from kernelvault import release

        chosen = options.settings(config, corpus=corpus, releases=releases)
        made = release.create(chosen, channel)
        console = screen()
        console.print(table(("table", "rows"), made.counts.items()))
        state = "nothing changed" if made.unchanged else "cut"
        console.print(f"{state}: {made.path}", markup=False)


@app.command("verify")
def verify_(path: Annotated[Path, typer.Argument(help="Folder of a release")]) -> None:
    """Check a release's files, ids and verdicts. Exit code: 0 sound, 1 not, 2 no release."""
    with reported():
        from kernelvault import release
        from kernelvault.errors import UsageError

        if not path.is_dir():
            raise UsageError(f"there is no release {path}", "give the folder of a release")
        report = release.verify(path)
        for problem in report.problems:
            screen().print(str(problem), markup=False)
        screen().print("sound" if report.passed else "NOT sound: do not use it")
        raise typer.Exit(0 if report.passed else 1)
