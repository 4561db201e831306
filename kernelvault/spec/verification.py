"""Verdicts and verifications: what the gates said of one candidate, and in which surroundings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from kernelvault.hashing import content_id
from kernelvault.spec.judge import OUTCOMES, PASSED, judge
from kernelvault.spec.preset import GATES, get_preset

TIERS = ("hardware", "foreign", "emulated")
GPU_TARGETS = ("gfx90a", "gfx942", "gfx950")
WAVE64 = "wave64"  # the target of emulated execution: no architecture, only a wave size


@dataclass(frozen=True, slots=True)
class Verdict:
    """One gate's outcome. `reason` is one readable line, empty when passed."""

    IS_STRUCT: ClassVar[bool] = True

    gate: str
    outcome: str
    reason: str
    evidence: dict[str, Any]

    def __post_init__(self) -> None:
        if self.gate not in GATES:
            raise ValueError(f"unknown gate {self.gate!r}")
        if self.outcome not in OUTCOMES:
            raise ValueError(f"unknown outcome {self.outcome!r}")
        if (self.outcome == PASSED) == bool(self.reason):
            raise ValueError("a verdict has a reason exactly when it did not pass")


@dataclass(frozen=True, slots=True)
class KernelUsage:
    """Static resource usage of one kernel on one target, read from the code object."""

    IS_STRUCT: ClassVar[bool] = True

    name: str
    vgpr: int
    sgpr: int
    agpr: int
    vgpr_spills: int
    sgpr_spills: int
    scratch_bytes: int
    lds_bytes: int
    occupancy: int
    instructions: int
    mfma: int
    isa: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verification:
    """All verdicts of one candidate on one target and tier under one preset.

    An emulated run yields one verification per compile target (static, compile) and one on
    `wave64` (correctness). Latencies are null exactly on the emulated tier.
    Raises ValueError when an outcome does not follow from its evidence.
    """

    verification_id: str
    candidate_id: str
    problem_id: str
    target: str
    tier: str
    preset: str
    preset_digest: str
    gate_code_version: str
    toolchain_digest: str
    passed: bool
    verdicts: tuple[Verdict, ...]
    kernels: tuple[KernelUsage, ...]
    code_object_sha256: str | None
    latency_ms: float | None
    speedup: float | None
    environment: dict[str, Any]
    host: str
    started_at: datetime
    seconds: float

    def __post_init__(self) -> None:
        if self.tier not in TIERS:
            raise ValueError(f"unknown tier {self.tier!r}")
        preset = get_preset(self.preset)
        for verdict in self.verdicts:
            outcome = judge(verdict.gate, verdict.evidence, preset)
            if outcome != verdict.outcome:
                raise ValueError(
                    f"{verdict.gate} says {verdict.outcome} but its evidence says {outcome}"
                )
        if self.passed != (bool(self.verdicts) and all(v.outcome == PASSED for v in self.verdicts)):
            raise ValueError("`passed` must say whether every verdict passed")
        if self.tier == "emulated" and (self.latency_ms is not None or self.speedup is not None):
            raise ValueError("the emulated tier has no latency")
        if self.verification_id != self.recompute_id():
            raise ValueError(f"verification_id {self.verification_id} does not match its content")

    def recompute_id(self) -> str:
        return verification_id(
            self.candidate_id, self.target, self.tier, self.preset_digest,
            self.gate_code_version, self.toolchain_digest,
        )  # fmt: skip


def verification_id(
    candidate: str, target: str, tier: str, preset_digest: str, gate_code: str, toolchain: str
) -> str:
    """The verification key: equal keys mean the same judgement, wherever and whenever made."""
    body = [candidate, target, tier, preset_digest, gate_code, toolchain]
    return content_id("verification", body)
