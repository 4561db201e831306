"""The seam between the command line and whatever orchestrator is installed.

The library knows no orchestrator; one is found through the entry points of group
`kernelvault.flows`. It takes a JobRequest, reports Progress while it works, gives a JobReport.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kernelvault.settings import Settings

if TYPE_CHECKING:
    from kernelvault.agents.pipeline import UnitSummary


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What to work on. `problems` None means all built-in ones; `limit` caps their number;
    `languages` None means those of the settings."""

    settings: Settings
    problems: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    limit: int | None = None
    release: bool = True


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` steps of a stage are over; `label` names the one that just ended."""

    stage: str
    done: int
    total: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class UnitFault:
    """A unit of work our surroundings failed, never its candidate. The rest was kept."""

    unit: str
    cause: str
    next_step: str


@dataclass(frozen=True, slots=True)
class ReleaseOutcome:
    """A cut release. `unchanged` says that an equal one existed and nothing was written."""

    path: Path
    unchanged: bool


@dataclass(frozen=True, slots=True)
class JobReport:
    """What a run did: one summary per unit that ended well, one fault per unit that did not.

    `grown` says whether the corpus got any row it did not have before.
    """

    units: tuple[UnitSummary, ...]
    faults: tuple[UnitFault, ...]
    grown: bool
    release: ReleaseOutcome | None
    seconds: float

    @property
    def changed(self) -> bool:
        """Whether the run added anything to the corpus or the releases."""
        return self.grown or (self.release is not None and not self.release.unchanged)


Listener = Callable[[Progress], None]


class MainJob(Protocol):
    """The entry point `main_job`. Raises KernelVaultError when the job as a whole cannot go on."""

    def __call__(self, request: JobRequest, on_progress: Listener) -> JobReport: ...


class OpenUi(Protocol):
    """The entry point `ui`: serve the records of past runs until interrupted.

    `on_ready` gets the address once it answers.
    """

    def __call__(self, settings: Settings, on_ready: Callable[[str], None]) -> None: ...
