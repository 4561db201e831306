"""The `kernelvault` command. Commands import what they need when they run: `--help` is instant."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelvault.cli import doctor, problems, release, run, store, verify, why
from kernelvault.cli.faults import enable_debug

app = typer.Typer(
    name="kernelvault",
    help="Execution-verified corpora of AMD GPU kernels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show logs and tracebacks")] = False,
) -> None:
    """Execution-verified corpora of AMD GPU kernels."""
    if debug:
        enable_debug()


app.command("doctor")(doctor.doctor)
app.command("run")(run.run)
app.command("verify")(verify.verify)
app.command("why")(why.why)
app.command("query")(store.query)
app.command("ui")(run.ui)
app.add_typer(problems.app, name="problems")
app.add_typer(release.app, name="release")
app.add_typer(store.cache_app, name="cache")


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed

    typer.echo(installed("kernelvault"))


def main() -> None:
    """The console script."""
    app()
