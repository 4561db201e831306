"""Writes images.lock: the digest that each base image's tag has in its registry now.

    python3 -m infra.images.lock

A digest is written only when a registry gave it and the bytes behind it have it. Exit code: 0 every
base has a digest, 3 one has none; the lock then says why.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from infra.images.registry import DIGEST, Refused, Registry, Resolved, Unreachable

HERE = Path(__file__).parent
BASES = HERE / "bases.toml"
LOCK = HERE / "images.lock"
UNRESOLVED = 3


class LockError(Exception):
    """The lock cannot serve; the text names cause and next step."""


@dataclass(frozen=True, slots=True)
class Base:
    """One entry of bases.toml: what to build on, by its movable name."""

    image: str
    tag: str
    platform: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the lock: a base with a digest, or with the reason why there is none."""

    image: str
    tag: str
    platform: str
    digest: str = ""
    manifest: str = ""
    unresolved: str = ""

    @property
    def reference(self) -> str:
        return f"{self.image}@{self.digest}"


Resolve = Callable[[Base], Resolved]


def read_bases(path: Path = BASES) -> dict[str, Base]:
    """The bases by name."""
    return {name: Base(**entry) for name, entry in tomllib.loads(path.read_text())["bases"].items()}


def read_lock(path: Path = LOCK) -> dict[str, Entry]:
    """The entries of the lock by base; none when there is no file. Raises LockError."""
    if not path.exists():
        return {}
    try:
        document: dict[str, Any] = json.loads(path.read_text())
        entries = {name: Entry(**entry) for name, entry in document["bases"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LockError(
            f"{path} cannot be read: {error}\n  next step: restore it with git, or remove it and "
            "run `make images-lock`"
        ) from error
    for name, entry in entries.items():
        if entry.digest and not DIGEST.fullmatch(entry.digest):
            raise LockError(
                f"{path} names {entry.digest!r} for {name}, which is no SHA-256 digest\n"
                "  next step: run `make images-lock`"
            )
    return entries


def write_lock(entries: Mapping[str, Entry], path: Path = LOCK) -> None:
    """Write the lock: sorted, without empty fields, so that equal locks are equal files."""
    bases = {
        name: {key: value for key, value in asdict(entries[name]).items() if value}
        for name in sorted(entries)
    }
    path.write_text(json.dumps({"bases": bases}, indent=2) + "\n")


def ask_registry(base: Base) -> Resolved:
    return Registry.of(base.image).resolve(base.tag, base.platform)


def update(
    bases: Mapping[str, Base],
    old: Mapping[str, Entry],
    say: Callable[[str], object],
    resolve: Resolve = ask_registry,
) -> dict[str, Entry]:
    """A new lock for `bases`. A digest known for the same tag outlives a registry that gives no
    answer, but not one that answers no."""
    entries = {}
    for name, base in bases.items():
        place = (base.image, base.tag, base.platform)
        try:
            found = resolve(base)
        except Unreachable as error:
            known = old.get(name)
            if known and known.digest and (known.image, known.tag, known.platform) == place:
                entries[name] = known
                say(f"{name}: {error}; keeps {known.digest} of an earlier run")
                continue
            entries[name] = Entry(*place, unresolved=f"registry not reached: {error}")
        except Refused as error:
            entries[name] = Entry(*place, unresolved=f"registry refused: {error}")
        else:
            entries[name] = Entry(*place, found.digest, found.manifest)
        say(f"{name}: {entries[name].digest or 'UNRESOLVED, ' + entries[name].unresolved}")
    return entries


def main() -> int:
    """Resolve every base and write the lock."""

    def say(line: str) -> None:
        sys.stderr.write(f"images-lock: {line}\n")

    try:
        entries = update(read_bases(), read_lock(), say)
    except LockError as error:
        say(str(error))
        return UNRESOLVED
    write_lock(entries)
    if any(entry.unresolved for entry in entries.values()):
        say("not every base has a digest; nothing can be built on those that have none")
        say("  next step: run `make images-lock` on a machine that reaches the registry")
        return UNRESOLVED
    return 0


if __name__ == "__main__":
    sys.exit(main())
