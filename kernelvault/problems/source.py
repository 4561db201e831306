"""The text of a problem before anything of it has run."""

from __future__ import annotations

from dataclasses import dataclass

from kernelvault.spec.provenance import Provenance


@dataclass(frozen=True, slots=True)
class ProblemSource:
    """A problem file: a name for people, its text and where it came from."""

    name: str
    source: str
    provenance: Provenance
