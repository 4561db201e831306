"""Verify two files of a user's own: a problem and a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelvault.errors import UsageError
from kernelvault.problems import catalog
from kernelvault.problems.catalog import ProblemSource
from kernelvault.problems.prepare import prepare
from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings
from kernelvault.spec.candidate import SUFFIXES, Candidate, make_candidate
from kernelvault.spec.provenance import Provenance
from kernelvault.spec.verification import Verification
from kernelvault.verification.bundle import write_bundle
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.report import record
from kernelvault.verification.subject import subject_of

MAX_CANDIDATE_BYTES = 1 << 20
_LANGUAGE_OF_SUFFIX = {
    **{suffix: language for language, suffix in SUFFIXES.items()},
    **dict.fromkeys((".cpp", ".cu", ".cc"), "hip"),
}


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The outcome for a user's two files; `bundle` is set when a gate did not pass."""

    verifications: tuple[Verification, ...]
    bundle: Path | None

    @property
    def exit_code(self) -> int:
        return 0 if self.to_json()["passed"] else 1

    def to_json(self) -> dict[str, Any]:
        return record(self.verifications)


def verify_files(
    settings: Settings, problem: str, candidate: Path, targets: Sequence[str] | None = None
) -> VerifyReport:
    """Run the settings' preset on a candidate file against a built-in problem or a problem file.

    Raises ProblemRejected or UsageError for unusable files, InfrastructureError for our own faults.
    """
    source = _problem(problem)
    answer = read_candidate(candidate)
    sandbox = open_sandbox(settings.sandbox)
    language = _LANGUAGE_OF_SUFFIX[candidate.suffix]
    verifier = make_verifier(settings, sandbox, language, targets)
    prepared = prepare(source, settings, sandbox)
    provenance = Provenance("", "", candidate.name, "NOASSERTION")
    made: Candidate = make_candidate(
        prepared.problem.problem_id, language, answer, provenance=provenance
    )
    subject = subject_of(prepared)
    verifications = verifier.verify(made, subject)
    report = VerifyReport(verifications, None)
    if report.exit_code == 0:
        return report
    root = settings.corpus / "bundles"
    bundle = write_bundle(root, prepared.problem.source, made, verifications, subject.cases)
    return VerifyReport(verifications, bundle)


def _problem(problem: str) -> ProblemSource:
    if problem.endswith(".py") or Path(problem).is_file():
        return catalog.from_file(Path(problem))
    return catalog.find(problem)


def read_candidate(path: Path) -> str:
    """The text of a candidate file; raises UsageError when it cannot be one."""
    if path.suffix not in _LANGUAGE_OF_SUFFIX:
        known = ", ".join(_LANGUAGE_OF_SUFFIX)
        raise UsageError(f"{path} has no known candidate suffix", f"name it with one of {known}")
    try:
        size = path.stat().st_size
        if size > MAX_CANDIDATE_BYTES:
            text = f"{path} has {size} bytes, a candidate may have {MAX_CANDIDATE_BYTES}"
            raise UsageError(text, "give one self-contained kernel source")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}", "save it as UTF-8") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "check the path") from error
