"""Release channels: which verdicts a sample needs, as data. Adding a channel is adding a file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Requirement:
    """A gate that must have passed on a target."""

    gate: str
    target: str


@dataclass(frozen=True, slots=True)
class Channel:
    """The policy of a release: required verdicts, and the tiers and sandboxes they come from."""

    name: str
    description: str
    tiers: tuple[str, ...]
    sandboxes: tuple[str, ...]
    required: tuple[Requirement, ...]


def channel_names() -> tuple[str, ...]:
    """Every known channel, sorted."""
    entries = files(__package__).iterdir()
    return tuple(sorted(e.name.removesuffix(".toml") for e in entries if e.name.endswith(".toml")))


def load_channel(name: str) -> Channel:
    """The channel called `name`; raises KeyError naming the known ones."""
    if name not in channel_names():
        raise KeyError(f"no channel {name!r}; known: {', '.join(channel_names())}")
    data = tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))
    required = [Requirement(r["gate"], target) for r in data["required"] for target in r["targets"]]
    return Channel(
        data["name"],
        data["description"],
        tuple(data["tiers"]),
        tuple(data["sandboxes"]),
        tuple(required),
    )
