"""The generate-verify loop: one unit is one agent working on one problem.

Every attempt is verified and spooled before the next is chosen, so a kill loses at most the attempt
in flight; a resumed unit finds what is known and only does the rest. An agent is a deterministic
function of the verdicts it has seen, which makes a resumed corpus equal to an undisturbed one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelvault.agents.catalog import agents_for
from kernelvault.agents.context import Workbench, open_workbench
from kernelvault.agents.contract import Agent, Proposal, Turn
from kernelvault.agents.profile import static_profile
from kernelvault.errors import ProblemRejected, UsageError
from kernelvault.problems import catalog
from kernelvault.problems.prepare import PreparedProblem
from kernelvault.settings import Settings
from kernelvault.spec.candidate import (
    Attempt,
    Candidate,
    attempt_id,
    make_candidate,
    trajectory_id,
)
from kernelvault.spec.verification import Verification
from kernelvault.verification.report import failed_gate


@dataclass(frozen=True, slots=True)
class Unit:
    """One agent on one problem in one language: what is scheduled, retried and resumed."""

    problem: str
    language: str
    agent: str

    @property
    def key(self) -> str:
        return f"{self.problem}:{self.language}:{self.agent}"


@dataclass(frozen=True, slots=True)
class UnitSummary:
    """What one unit gave. `reused` counts attempts whose verdicts were already known."""

    unit: Unit
    attempts: int = 0
    answered: int = 0
    unsupported: int = 0
    passed: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    reused: int = 0
    rejected: str | None = None
    cpu_s: float = 0.0


def plan_units(
    settings: Settings,
    problems: Sequence[str] | None = None,
    languages: Sequence[str] | None = None,
    limit: int | None = None,
) -> tuple[Unit, ...]:
    """The units of a run over the built-in problems, in catalog order.

    `limit` bounds the number of problems; `languages` are the settings' when not given.
    Raises UsageError for unknown problems or languages.
    """
    names = [source.name for source in catalog.builtin()]
    unknown = sorted(set(problems or ()) - set(names))
    if unknown:
        raise UsageError(f"no problem {', '.join(unknown)}", "see `kernelvault problems list`")
    chosen = [name for name in names if not problems or name in problems][:limit]
    return tuple(
        Unit(name, language, agent)
        for name in chosen
        for language in languages or settings.languages
        for agent in agents_for(language, name)
    )


def run_unit(settings: Settings, unit: Unit) -> UnitSummary:
    """Work on one unit until its agent is done; attempts are spooled one by one.

    A problem that cannot serve is recorded in `rejects` and returned as `rejected`.
    Raises InfrastructureError when the machine, not a candidate, is at fault.
    """
    bench = open_workbench(settings)
    started = time.process_time()
    try:
        prepared = bench.prepare(catalog.find(unit.problem))
    except ProblemRejected as rejection:
        bench.spool_reject(unit.problem, catalog.find(unit.problem).source, rejection)
        return UnitSummary(unit, rejected=rejection.reason)
    trajectory = Trajectory(bench, prepared, bench.agent(unit.agent, unit.language), settings.seed)
    return trajectory.run(unit, started)


class Trajectory:
    """The ordered attempts of one agent on one problem."""

    def __init__(
        self, bench: Workbench, prepared: PreparedProblem, agent: Agent, seed: int
    ) -> None:
        self._bench = bench
        self._prepared = prepared
        self._agent = agent
        self._id = trajectory_id(
            prepared.problem.problem_id, agent.language, agent.name, agent.version, seed
        )
        self._history: list[Turn] = []

    def run(self, unit: Unit, started: float) -> UnitSummary:
        answered = unsupported = passed = reused = 0
        failed: dict[str, int] = {}
        while (proposal := self._agent.propose(self._prepared, self._history)) is not None:
            attempt, candidate = self._attempt(proposal)
            if candidate is None:
                unsupported += 1
                reused += self._bench.corpus.has_attempt(attempt.attempt_id)
                self._bench.spool_attempt(self._prepared, attempt, None, ())
                self._history.append(Turn(proposal, False, None, proposal.reason, {}))
                continue
            answered += 1
            verifications, known = self._bench.verify(self._prepared, candidate)
            reused += known and self._bench.corpus.has_attempt(attempt.attempt_id)
            self._bench.spool_attempt(self._prepared, attempt, candidate, verifications)
            turn = _turn(proposal, verifications)
            self._history.append(turn)
            passed += turn.passed
            if turn.failed_gate:
                failed[turn.failed_gate] = failed.get(turn.failed_gate, 0) + 1
        cpu_s = time.process_time() - started
        return UnitSummary(
            unit, answered + unsupported, answered, unsupported, passed, failed, reused, None, cpu_s
        )

    def _attempt(self, proposal: Proposal) -> tuple[Attempt, Candidate | None]:
        problem_id, turn = self._prepared.problem.problem_id, len(self._history)
        candidate = None
        if proposal.source is not None:
            language = self._agent.language
            candidate = make_candidate(
                problem_id, language, proposal.source, proposal.options, proposal.provenance
            )
        attempt = Attempt(
            attempt_id=attempt_id(self._id, turn),
            trajectory_id=self._id,
            turn=turn,
            problem_id=problem_id,
            language=self._agent.language,
            agent=self._agent.name,
            agent_version=self._agent.version,
            status="answered" if candidate else "unsupported",
            candidate_id=candidate.candidate_id if candidate else None,
            schedule=proposal.schedule,
            feedback=_feedback(self._history),
            reason=proposal.reason,
            label=proposal.label,
        )
        return attempt, candidate


def _turn(proposal: Proposal, verifications: Sequence[Verification]) -> Turn:
    failure = failed_gate(verifications)
    gate, reason = failure or (None, "")
    return Turn(proposal, failure is None, gate, reason, static_profile(verifications))


def _feedback(history: Sequence[Turn]) -> dict[str, Any]:
    """What the agent had seen of the previous attempt when it made this one."""
    if not history:
        return {}
    last = history[-1]
    return {"passed": last.passed, "failed_gate": last.failed_gate, "reason": last.reason}
