"""The Inductor agent: Triton kernels as PyTorch's compiler writes them, made self-contained."""

from __future__ import annotations

from collections.abc import Sequence

from kernelvault.agents.contract import ProblemView, Proposal, Turn
from kernelvault.agents.inductor.variants import VARIANTS
from kernelvault.agents.inductor.writing import Writer
from kernelvault.sandbox import Sandbox
from kernelvault.settings import Settings
from kernelvault.spec.provenance import Provenance

# Kernel text is PyTorch's work: the licence goes wherever a candidate goes.
ORIGIN = "Torch Inductor (PyTorch, BSD-3-Clause)"
PROVENANCE = Provenance("kernelvault", "", "", "Apache-2.0 AND BSD-3-Clause")


class InductorAgent:
    """Proposes the sources of up to `attempts` variants; deterministic for one torch and Triton.

    Holds a warm sandbox: make one agent a process and give it every problem.
    A problem for which no variant has a source gets a single proposal that says why. A variant
    without one is left out where others have one.
    """

    name = "inductor"
    version = "1"
    language = "triton"

    def __init__(self, settings: Settings, sandbox: Sandbox, attempts: int = 4) -> None:
        self._attempts = attempts
        self._writer = Writer(settings, sandbox)

    def propose(self, problem: ProblemView, history: Sequence[Turn]) -> Proposal | None:
        """The next variant that differs from all before it, None when there is none left."""
        if len(history) >= self._attempts or any(t.proposal.source is None for t in history):
            return None
        seen = {turn.proposal.source for turn in history}
        found = self._writer.answers(problem)
        for variant, answer in zip(VARIANTS, found, strict=True):
            if answer.source is not None and answer.source not in seen:
                schedule = {**variant.as_json(), "derived_from": ORIGIN}
                return Proposal(answer.source, schedule, provenance=PROVENANCE)
        if history:
            return None
        return Proposal(None, {"derived_from": ORIGIN}, found[0].reason)
