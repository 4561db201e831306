"""The template agent: a schedule-based writer of HIP kernels that needs no language model."""

from __future__ import annotations

from collections.abc import Sequence

from kernelvault.agents.contract import ProblemView, Proposal, Turn
from kernelvault.agents.template.dims import UnsupportedError
from kernelvault.agents.template.lowering import lower
from kernelvault.agents.template.policy import next_schedule
from kernelvault.agents.template.program import dominant_kind, generate
from kernelvault.agents.template.schedules import schedules_for


class TemplateAgent:
    """Proposes up to `attempts` schedules a problem, each chosen with the verdicts and the static
    profile of those before it. Deterministic: equal histories give equal proposals."""

    name = "template"
    version = "1"
    language = "hip"

    def __init__(self, attempts: int) -> None:
        self._attempts = attempts

    def propose(self, problem: ProblemView, history: Sequence[Turn]) -> Proposal | None:
        """The next candidate; a single `unsupported` proposal when the graph has no lowering."""
        if len(history) >= self._attempts or any(t.proposal.source is None for t in history):
            return None
        try:
            return self._next(problem, history)
        except UnsupportedError as reason:
            return Proposal(None, {}, str(reason))

    def _next(self, problem: ProblemView, history: Sequence[Turn]) -> Proposal | None:
        outputs = lower(problem.graph)
        schedules = list(schedules_for(dominant_kind(outputs)))
        seen = {turn.proposal.source for turn in history}
        while (choice := next_schedule(schedules, history)) is not None:
            source = generate(problem.graph, outputs, self._title(problem), choice)
            if source not in seen:
                return Proposal(source, choice.as_json())
            schedules.remove(choice)  # it coincides with one that was tried
        return None

    def _title(self, problem: ProblemView) -> str:
        return f"{problem.problem.name} ({problem.problem.family})"
