"""Which schedule to try next, from the verdicts and static profiles of those before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelvault.agents.contract import Turn
from kernelvault.agents.template.schedules import Schedule

_TARGET = "gfx942"
_LOW_OCCUPANCY = 2  # waves a SIMD: too few to hide memory latency


def next_schedule(schedules: Sequence[Schedule], history: Sequence[Turn]) -> Schedule | None:
    """The next untried schedule, None when nothing sensible is left.

    A structure that failed a gate is dropped. After spills or an occupancy of at most two waves,
    schedules that hold more per work-item than the last one are dropped. Of the rest, structures
    that were not tried come first, then those whose structure has scored best, then the given
    order.
    """
    tried = [turn.proposal.schedule for turn in history]
    failed = {turn.proposal.schedule["structure"] for turn in history if not turn.passed}
    structures = {schedule["structure"] for schedule in tried}
    left = [s for s in schedules if s.as_json() not in tried and s.structure not in failed]
    if history and _strained(history[-1].profile):
        last = next((s for s in schedules if s.as_json() == tried[-1]), None)
        limit = last.size if last is not None else 0
        left = [s for s in left if s.size <= limit]
    scores = _scores(history)
    left.sort(key=lambda s: (s.structure in structures, scores.get(s.structure, 0.0)))
    return left[0] if left else None


def static_score(profile: Mapping[str, Any], target: str = _TARGET) -> float:
    """A cost estimate from static facts alone; lower is better, and it is no time.

    Instructions weighted by what limits them: LDS operations count as four, a spill as sixteen,
    all divided by the occupancy in waves a SIMD that hides their latency.
    """
    total = 0.0
    for kernel in profile.get(target, []):
        isa = kernel["isa"]
        memory = sum(int(v) for k, v in isa.items() if k.startswith("lds") and isinstance(v, int))
        spills = kernel["vgpr_spills"] + kernel["sgpr_spills"]
        work = kernel["instructions"] + 3 * memory + 16 * spills
        total += work / max(1, kernel["occupancy"])
    return total


def _strained(profile: Mapping[str, Any]) -> bool:
    kernels = profile.get(_TARGET, [])
    return any(
        k["vgpr_spills"] + k["sgpr_spills"] > 0 or 0 < k["occupancy"] <= _LOW_OCCUPANCY
        for k in kernels
    )


def _scores(history: Sequence[Turn]) -> dict[str, float]:
    """The best score of each structure that passed."""
    best: dict[str, float] = {}
    for turn in history:
        if turn.passed:
            structure = turn.proposal.schedule["structure"]
            score = static_score(turn.profile)
            best[structure] = min(score, best.get(structure, score))
    return best
