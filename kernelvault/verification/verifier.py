"""Runs the gates of a preset in order and returns verifications."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kernelvault.spec.candidate import Candidate
from kernelvault.spec.judge import FAILED, NOT_RUN, PASSED, judge
from kernelvault.spec.preset import Preset
from kernelvault.spec.verification import Verdict, Verification, verification_id
from kernelvault.verification import correctness
from kernelvault.verification.contract import Build, Evidence, LanguageGates, TargetBuild
from kernelvault.verification.subject import Subject

# Raised by hand whenever a gate could judge the same candidate differently.
GATE_CODE_VERSION = "3"


@dataclass(frozen=True, slots=True)
class Clock:
    """When a verification started, for its record."""

    started_at: datetime
    monotonic: float

    @classmethod
    def now(cls) -> Clock:
        return cls(datetime.now(UTC), time.monotonic())

    def seconds(self) -> float:
        return time.monotonic() - self.monotonic


class Verifier:
    """The gates of one language and tier under one preset, for a fixed list of targets."""

    def __init__(self, gates: LanguageGates, preset: Preset, targets: Sequence[str]) -> None:
        self.gates = gates
        self.preset = preset
        self.targets = tuple(targets)

    def keys(self, candidate_id: str) -> dict[str, str]:
        """verification_id per target this verifier will report on (`run_target` last)."""
        return {
            target: verification_id(
                candidate_id, target, self.gates.tier, self.preset.digest,
                GATE_CODE_VERSION, self.gates.digest,
            )
            for target in (*self.targets, self.gates.run_target)
        }  # fmt: skip

    def verify(self, candidate: Candidate, subject: Subject) -> tuple[Verification, ...]:
        """One verification per compile target and one for the tier's run target.

        Gates run in order; once one failed everywhere, later ones are `not_run` with the reason.
        """
        clock = Clock.now()
        build = self.gates.build(candidate.source, subject, self.targets)
        static = self._verdict("static", build.static)
        built = {target.target: target for target in build.targets}
        compiled = {
            target: self._compile_verdict(static, built.get(target)) for target in self.targets
        }
        run = self._run(candidate, build, static, list(compiled.values()), subject)
        made = [
            self._record(candidate, target, (static, verdict), built.get(target), clock)
            for target, verdict in compiled.items()
        ]
        made.append(self._record(candidate, self.gates.run_target, (run,), None, clock))
        return tuple(made)

    def _compile_verdict(self, static: Verdict, target: TargetBuild | None) -> Verdict:
        if static.outcome != PASSED or target is None:
            return self._verdict("compile", {"not_run": "the static gate failed"})
        return self._verdict("compile", target.evidence)

    def _run(
        self,
        candidate: Candidate,
        build: Build,
        static: Verdict,
        compiled: Sequence[Verdict],
        subject: Subject,
    ) -> Verdict:
        if static.outcome != PASSED:
            return self._verdict("correctness", {"not_run": "the static gate failed"})
        if not any(verdict.outcome == PASSED for verdict in compiled):
            return self._verdict("correctness", {"not_run": "the compile gate did not pass"})
        calls = [case.call(subject.signature) for case in subject.cases]
        report = self.gates.run(candidate.source, build, calls)
        evidence = correctness.evidence(subject.cases, report, self.preset)
        return self._verdict("correctness", evidence)

    def _verdict(self, gate: str, evidence: Evidence) -> Verdict:
        outcome = judge(gate, evidence, self.preset)
        return Verdict(gate, outcome, _reason(gate, outcome, evidence, self.preset), evidence)

    def _record(
        self,
        candidate: Candidate,
        target: str,
        verdicts: tuple[Verdict, ...],
        build: TargetBuild | None,
        clock: Clock,
    ) -> Verification:
        return Verification(
            verification_id=self.keys(candidate.candidate_id)[target],
            candidate_id=candidate.candidate_id,
            problem_id=candidate.problem_id,
            target=target,
            tier=self.gates.tier,
            preset=self.preset.name,
            preset_digest=self.preset.digest,
            gate_code_version=GATE_CODE_VERSION,
            toolchain_digest=self.gates.digest,
            passed=all(verdict.outcome == PASSED for verdict in verdicts),
            verdicts=verdicts,
            kernels=build.kernels if build else (),
            code_object_sha256=build.code_object_sha256 if build else None,
            latency_ms=None,
            speedup=None,
            environment=self.gates.environment,
            host=platform.node(),
            started_at=clock.started_at,
            seconds=clock.seconds(),
        )


def _reason(gate: str, outcome: str, evidence: Evidence, preset: Preset) -> str:
    if outcome == PASSED:
        return ""
    if outcome == NOT_RUN:
        return str(evidence["not_run"])
    assert outcome == FAILED
    return _FAILURES[gate](evidence, preset)


def _static_reason(evidence: Evidence, preset: Preset) -> str:
    first: dict[str, Any] = next(f for f in evidence["findings"] if f["severity"] == "reject")
    where = f"line {first['line']}: " if first["line"] else ""
    return f"{first['rule']}: {where}{first['message']}"


def _compile_reason(evidence: Evidence, preset: Preset) -> str:
    target = evidence["target"]
    if evidence["ended"] != "exited":
        return f"the compiler was stopped for {target}: {evidence['ended']}"
    for diagnostic in evidence["diagnostics"]:
        if diagnostic["severity"] == "error":
            where = f"line {diagnostic['line']}: " if diagnostic["line"] else ""
            return f"does not compile for {target}: {where}{diagnostic['message']}"
    if evidence["exit_code"] == 0 and not evidence["kernels"]:
        return f"the code object for {target} holds no kernel"
    return f"the compiler failed for {target} with exit code {evidence['exit_code']}"


_FAILURES = {
    "static": _static_reason,
    "compile": _compile_reason,
    "correctness": correctness.reason,
}
