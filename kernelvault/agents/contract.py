"""The agent seam: given a problem and the verdicts so far, propose the next candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernelvault.spec.candidate import OUR_WORK
from kernelvault.spec.graph import Graph
from kernelvault.spec.problem import Problem
from kernelvault.spec.provenance import Provenance


class ProblemView(Protocol):
    """What an agent sees of a problem."""

    @property
    def problem(self) -> Problem: ...

    @property
    def graph(self) -> Graph: ...


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate's source, or (`source` None) why the agent cannot answer.

    `schedule` is what the agent chose, as JSON; `label` names what a replayed answer shows;
    `provenance` says whose text and under which licence.
    """

    source: str | None
    schedule: dict[str, Any]
    reason: str = ""
    label: str = ""
    options: tuple[tuple[str, str], ...] = ()
    provenance: Provenance = OUR_WORK

    def __post_init__(self) -> None:
        if self.source is None and not self.reason:
            raise ValueError("a proposal without a source must say why")


@dataclass(frozen=True, slots=True)
class Turn:
    """A proposal with its verdicts: the first gate that did not pass, and the static profile
    (`{target: [kernel resource usage, ...]}`)."""

    proposal: Proposal
    passed: bool
    failed_gate: str | None
    reason: str
    profile: Mapping[str, Any] = field(default_factory=dict)


class Agent(Protocol):
    """Writes candidates of one language; a deterministic function of problem and history."""

    name: str
    version: str
    language: str

    def propose(self, problem: ProblemView, history: Sequence[Turn]) -> Proposal | None:
        """The next proposal, None when the agent is done."""
        ...
