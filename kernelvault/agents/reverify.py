"""Verification of candidates that are in the corpus without verdicts under the current gates."""

from __future__ import annotations

from dataclasses import dataclass

from kernelvault.agents.context import open_workbench
from kernelvault.errors import StoreFault
from kernelvault.problems.catalog import ProblemSource
from kernelvault.settings import Settings
from kernelvault.verification.report import failed_gate


@dataclass(frozen=True, slots=True)
class Reverified:
    """The outcome of judging one stored candidate again; `failed_gate` is None when it passed."""

    candidate_id: str
    failed_gate: str | None
    reason: str


def pending_candidates(settings: Settings) -> tuple[str, ...]:
    """Ids of stored candidates that lack a verification under the current preset, gate code and
    toolchain, sorted."""
    bench = open_workbench(settings)
    pending = []
    for language, candidate in bench.corpus.candidate_ids():
        keys = bench.verifier(language).keys(candidate)
        if not bench.corpus.has_verifications(tuple(keys.values())):
            pending.append(candidate)
    return tuple(sorted(pending))


def verify_candidate(settings: Settings, candidate_id: str) -> Reverified:
    """Judge one stored candidate under the current gates and spool the result."""
    bench = open_workbench(settings)
    candidate = bench.corpus.candidate(candidate_id)
    problem = bench.corpus.problem(candidate.problem_id)
    prepared = bench.prepare(ProblemSource(problem.name, problem.source, problem.provenance))
    if prepared.problem.problem_id != problem.problem_id:
        raise StoreFault(
            f"problem {problem.name} of candidate {candidate_id} now derives another id",
            "the problem's derivation changed: generate for it again",
        )
    verifications, _ = bench.verify(prepared, candidate)
    key = f"reverify-{verifications[-1].verification_id}"
    bench.spool_verifications(key, verifications)
    gate, reason = failed_gate(verifications) or (None, "")
    return Reverified(candidate_id, gate, reason)
