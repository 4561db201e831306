"""Candidates (kernel sources) and attempts (the turns in which agents write them)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelvault.hashing import content_id, sha256_bytes
from kernelvault.spec.provenance import Provenance

LANGUAGES = ("hip", "triton")
SUFFIXES = {"hip": ".hip", "triton": ".py"}  # how a candidate's file is named
AGENTS = ("template", "inductor", "llm", "replay", "user")
ATTEMPT_STATUSES = ("answered", "unsupported")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One kernel source that answers a problem. Who wrote it is no part of its identity."""

    candidate_id: str
    problem_id: str
    language: str
    source: str
    options: tuple[tuple[str, str], ...]
    provenance: Provenance

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            raise ValueError(f"language is {self.language!r}, expected one of {LANGUAGES}")
        expected = candidate_id(self.problem_id, self.language, self.source, self.options)
        if self.candidate_id != expected:
            raise ValueError(f"candidate_id {self.candidate_id} does not match its content")


def candidate_id(
    problem_id: str, language: str, source: str, options: tuple[tuple[str, str], ...] = ()
) -> str:
    """Content address of a candidate: problem, language, exact source bytes, declared options."""
    body = [problem_id, language, sha256_bytes(source.encode()), [list(pair) for pair in options]]
    return content_id("candidate", body)


OUR_WORK = Provenance(repo="kernelvault", commit="", path="", license_spdx="Apache-2.0")


def make_candidate(
    problem_id: str,
    language: str,
    source: str,
    options: tuple[tuple[str, str], ...] = (),
    provenance: Provenance = OUR_WORK,
) -> Candidate:
    """Build a candidate with its id."""
    identity = candidate_id(problem_id, language, source, options)
    return Candidate(identity, problem_id, language, source, options, provenance)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One turn of an agent. `answered` has a candidate, `unsupported` a reason instead.

    `schedule` (what the agent chose) and `feedback` (what it saw before choosing) are JSON objects;
    `label` names what a replayed candidate is meant to show.
    """

    attempt_id: str
    trajectory_id: str
    turn: int
    problem_id: str
    language: str
    agent: str
    agent_version: str
    status: str
    candidate_id: str | None
    schedule: dict[str, Any]
    feedback: dict[str, Any]
    reason: str
    label: str

    def __post_init__(self) -> None:
        if self.agent not in AGENTS:
            raise ValueError(f"agent is {self.agent!r}, expected one of {AGENTS}")
        if self.status not in ATTEMPT_STATUSES:
            raise ValueError(f"status is {self.status!r}, expected one of {ATTEMPT_STATUSES}")
        if (self.status == "answered") != (self.candidate_id is not None):
            raise ValueError("exactly the answered attempts have a candidate")
        if self.status == "unsupported" and not self.reason:
            raise ValueError("an unsupported attempt must say why")
        if self.attempt_id != content_id("attempt", [self.trajectory_id, self.turn]):
            raise ValueError(f"attempt_id {self.attempt_id} does not match its content")


def trajectory_id(problem_id: str, language: str, agent: str, agent_version: str, seed: int) -> str:
    """Content address of an agent's whole conversation on one problem."""
    return content_id("trajectory", [problem_id, language, agent, agent_version, seed])


def attempt_id(trajectory: str, turn: int) -> str:
    """Content address of one turn."""
    return content_id("attempt", [trajectory, turn])
