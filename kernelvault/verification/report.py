"""The record `kernelvault verify --json` prints: verdicts joined per requested target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelvault.spec.judge import PASSED
from kernelvault.spec.verification import Verdict, Verification


def joined(verifications: Sequence[Verification]) -> dict[str, list[Verdict]]:
    """Verdicts per compile target; verdicts of the run target (`wave64`) join every one of them."""
    targets = [v for v in verifications if any(verdict.gate == "compile" for verdict in v.verdicts)]
    shared = [verdict for v in verifications if v not in targets for verdict in v.verdicts]
    return {v.target: [*v.verdicts, *shared] for v in targets}


def record(verifications: Sequence[Verification]) -> dict[str, Any]:
    """The JSON record of one candidate; `passed` means every requested target."""
    first = verifications[0]
    targets = [
        {
            "target": target,
            "passed": all(verdict.outcome == PASSED for verdict in verdicts),
            "verdicts": [
                {
                    "gate": verdict.gate,
                    "outcome": verdict.outcome,
                    "reason": verdict.reason,
                    "evidence": verdict.evidence,
                }
                for verdict in verdicts
            ],
        }
        for target, verdicts in joined(verifications).items()
    ]
    return {
        "candidate_id": first.candidate_id,
        "problem_id": first.problem_id,
        "preset": first.preset,
        "tier": first.tier,
        "passed": all(target["passed"] for target in targets),
        "targets": targets,
    }


def failed_gate(verifications: Sequence[Verification]) -> tuple[str, str] | None:
    """(gate, reason) of the first verdict in gate order that failed, or could not be given."""
    for wanted in ("failed", "not_run"):
        for verdicts in joined(verifications).values():
            for verdict in verdicts:
                if verdict.outcome == wanted:
                    return verdict.gate, verdict.reason
    return None
