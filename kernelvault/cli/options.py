"""Options several commands share, and how they become settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kernelvault.errors import ConfigError
from kernelvault.settings import Settings, resolve

Config = Annotated[
    Path | None, typer.Option("--config", help="TOML settings file [default: kernelvault.toml]")
]
Corpus = Annotated[Path | None, typer.Option("--corpus", help="Folder of the corpus")]
Releases = Annotated[Path | None, typer.Option("--releases", help="Folder of the releases")]
Cache = Annotated[Path | None, typer.Option("--cache", help="Folder of the cache")]
Sandbox = Annotated[
    str | None,
    typer.Option(
        "--sandbox", help="auto, bubblewrap, docker; without isolation: subprocess, disposable-host"
    ),
]
Targets = Annotated[
    str | None, typer.Option("--target", help="Architectures, comma-separated: gfx942,gfx950")
]


def settings(config: Path | None = None, **overrides: Any) -> Settings:
    """The settings of this command; None leaves a setting as file, environment or default say."""
    made = resolve(overrides, config)
    for name in ("corpus", "releases", "cache"):
        folder = getattr(made, name)
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"{name} {folder} is not a folder", f"choose another with --{name}")
    return made


def split(text: str | None) -> tuple[str, ...] | None:
    """`a, b` as ("a", "b"); nothing at all as None."""
    names = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    return names or None
