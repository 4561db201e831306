"""`kernelvault problems`: what there is to work on."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelvault.cli.faults import reported
from kernelvault.cli.screen import screen, table

app = typer.Typer(help="List and show built-in problems.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the built-in problems."""
    from kernelvault.problems import catalog

    with reported():
        rows = [(p.name, len(p.source.splitlines()), p.provenance.path) for p in catalog.builtin()]
        screen().print(table(("problem", "lines", "source"), rows))
        screen().print(f"{len(rows)} problems; see one with `kernelvault problems show NAME`")


@app.command()
def show(name: Annotated[str, typer.Argument(help="Name of a built-in problem")]) -> None:
    """Print the source of a built-in problem."""
    from kernelvault.problems import catalog

    with reported():
        typer.echo(catalog.find(name).source, nl=False)
