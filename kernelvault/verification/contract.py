"""The seam between the verifier and a language: how its candidates are checked and built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kernelvault.execution.contract import Call, RunReport
from kernelvault.spec.verification import KernelUsage
from kernelvault.verification.subject import Subject

Evidence = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TargetBuild:
    """The compile gate's facts for one target."""

    target: str
    evidence: Evidence
    kernels: tuple[KernelUsage, ...]
    code_object_sha256: str | None


@dataclass(frozen=True, slots=True)
class Build:
    """What building a candidate gave: static evidence completed by the object's symbols, and one
    entry per target (empty when the static gate already rejected the source)."""

    static: Evidence
    targets: tuple[TargetBuild, ...]
    handle: object


class LanguageGates(Protocol):
    """Checks and builds candidates of one language, and runs them on one tier."""

    language: str
    tier: str
    run_target: str
    digest: str
    environment: dict[str, Any]

    def build(self, source: str, subject: Subject, targets: Sequence[str]) -> Build:
        """Check and build; languages that compile on launch use the subject's shapes."""
        ...

    def run(self, source: str, build: Build, calls: Sequence[Call]) -> RunReport: ...
