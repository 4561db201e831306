"""What a unit needs at hand: sandbox, verifiers, reference results and the corpus, opened once a
process and settings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from kernelvault.agents.catalog import make_agent
from kernelvault.agents.contract import Agent
from kernelvault.errors import ProblemRejected
from kernelvault.hashing import content_id, sha256_bytes
from kernelvault.problems.catalog import ProblemSource
from kernelvault.problems.prepare import PreparedProblem, prepare
from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings
from kernelvault.spec.candidate import Attempt, Candidate
from kernelvault.spec.rows import to_row
from kernelvault.spec.verification import Verification
from kernelvault.store import Corpus
from kernelvault.verification.bundle import write_bundle
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.report import failed_gate
from kernelvault.verification.subject import subject_of
from kernelvault.verification.verifier import Verifier


class Workbench:
    """One process's tools for working on units."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.corpus = Corpus(settings.corpus)
        self._sandbox = open_sandbox(settings.sandbox)
        self._verifiers: dict[str, Verifier] = {}
        self._agents: dict[tuple[str, str], Agent] = {}

    def prepare(self, source: ProblemSource) -> PreparedProblem:
        """The problem with its workloads and expectations, from the cache when it is there."""
        return prepare(source, self.settings, self._sandbox)

    def agent(self, name: str, language: str) -> Agent:
        """An agent, made on first use. Raises ConfigError when there is no such agent."""
        if (name, language) not in self._agents:
            made = make_agent(name, language, self.settings, self._sandbox)
            self._agents[name, language] = made
        return self._agents[name, language]

    def verifier(self, language: str) -> Verifier:
        """The verifier of a language, made on first use."""
        if language not in self._verifiers:
            self._verifiers[language] = make_verifier(self.settings, self._sandbox, language)
        return self._verifiers[language]

    def verify(
        self, prepared: PreparedProblem, candidate: Candidate
    ) -> tuple[tuple[Verification, ...], bool]:
        """Verifications of a candidate, and whether they were already in the corpus."""
        verifier = self.verifier(candidate.language)
        keys = verifier.keys(candidate.candidate_id)
        known = self.corpus.verifications(tuple(keys.values()))
        if len(known) == len(keys):
            by_id = {verification.verification_id: verification for verification in known}
            return tuple(by_id[key] for key in keys.values()), True
        subject = subject_of(prepared)
        verifications = verifier.verify(candidate, subject)
        if failed_gate(verifications) is not None:
            root = self.settings.corpus / "bundles"
            write_bundle(root, prepared.problem.source, candidate, verifications, subject.cases)
        return verifications, False

    def spool_attempt(
        self,
        prepared: PreparedProblem,
        attempt: Attempt,
        candidate: Candidate | None,
        verifications: Sequence[Verification],
    ) -> None:
        """Make one attempt durable, with everything its rows refer to."""
        workloads = [*prepared.workloads, prepared.performance]
        self.corpus.spool(
            attempt.attempt_id,
            {
                "problems": [to_row(prepared.problem)],
                "workloads": [to_row(workload) for workload in workloads],
                "candidates": [to_row(candidate)] if candidate else [],
                "attempts": [to_row(attempt)],
                "verifications": [to_row(verification) for verification in verifications],
            },
        )

    def spool_verifications(self, key: str, verifications: Sequence[Verification]) -> None:
        """Make a re-verification durable."""
        rows = [to_row(verification) for verification in verifications]
        self.corpus.spool(key, {"verifications": rows})

    def spool_reject(self, subject: str, source: str, rejection: ProblemRejected) -> None:
        """Record a problem that cannot serve, with the reason."""
        digest = sha256_bytes(source.encode())
        identity = content_id("reject", [digest, rejection.reason])
        row = {
            "reject_id": identity,
            "kind": "problem",
            "subject": subject,
            "reason": rejection.reason,
            "cause": rejection.cause,
            "next_step": rejection.next_step,
            "source_sha256": digest,
            "recorded_at": datetime.now(UTC),
        }
        self.corpus.spool(identity, {"rejects": [row]})


@lru_cache(maxsize=4)
def open_workbench(settings: Settings) -> Workbench:
    """The workbench of this process for these settings."""
    return Workbench(settings)


def warm_up(settings: Settings, languages: Sequence[str] | None = None) -> None:
    """Build what every unit shares (headers, precompiled headers, runners) before a fan-out.

    `languages` are the settings' when not given.

    Raises ToolchainMissing or SandboxUnavailable, so that a run stops before it has begun.
    """
    bench = open_workbench(settings)
    for language in languages or settings.languages:
        bench.verifier(language)
