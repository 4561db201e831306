"""Hand-written Triton kernels pass every gate; wrong twins and cheats fail the one they should."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kernelvault.execution.triton.executor import TritonCpuExecutor
from kernelvault.problems import catalog
from kernelvault.problems.prepare import prepare
from kernelvault.sandbox import Sandbox, open_sandbox
from kernelvault.settings import Settings
from kernelvault.spec.candidate import make_candidate
from kernelvault.spec.judge import judge
from kernelvault.spec.provenance import Provenance
from kernelvault.verification import correctness
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.files import read_candidate
from kernelvault.verification.report import joined
from kernelvault.verification.subject import Subject, subject_of
from kernelvault.verification.verifier import Verifier

FOLDER = Path(__file__).parents[1] / "triton_examples"
CHEATS, BROKEN = FOLDER / "cheats", FOLDER / "broken"
TARGETS = ("gfx942", "gfx950")

# What runs by default: one of each kind; all others are slow.
QUICK = {"softmax", "standardize_bfloat16", "row_max"}
QUICK_REFUSED = {"decoy", "last_tile", "in_place", "host_raises", "writes_past_the_end"}

# (gate, outcome, reason) of every target.
Outcomes = dict[str, list[tuple[str, str, str]]]
Verify = Callable[[Path, Path], Outcomes]
SEEN = [e for e in json.loads((CHEATS / "index.json").read_text()) if e["seen_running"]]


def entries(index: Path, quick: set[str]) -> list[Any]:
    """The entries of an index, those outside `quick` marked slow."""
    return [
        pytest.param(
            entry, id=entry["name"], marks=() if entry["name"] in quick else pytest.mark.slow
        )
        for entry in json.loads(index.read_text())
    ]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox("bubblewrap")


@pytest.fixture(scope="module")
def verifier(settings: Settings, sandbox: Sandbox) -> Verifier:
    """One verifier for all, whose processes stay warm."""
    return make_verifier(settings, sandbox, "triton", TARGETS)


@pytest.fixture(scope="module")
def subject(settings: Settings, sandbox: Sandbox) -> Callable[[Path], tuple[str, Subject]]:
    """The problem_id and the subject of a problem file."""

    @cache
    def prepared(path: Path) -> tuple[str, Subject]:
        known = prepare(catalog.from_file(path), settings, sandbox)
        return known.problem.problem_id, subject_of(known)

    return prepared


@pytest.fixture(scope="module")
def verify(verifier: Verifier, subject: Callable[[Path], tuple[str, Subject]]) -> Verify:
    """Runs the gates as `verify_files` does."""

    def run(problem: Path, candidate: Path) -> Outcomes:
        problem_id, known = subject(problem.resolve())
        text = read_candidate(candidate)
        nowhere = Provenance("", "", candidate.name, "NOASSERTION")
        made = make_candidate(problem_id, "triton", text, provenance=nowhere)
        found = joined(verifier.verify(made, known))
        return {
            target: [(v.gate, v.outcome, v.reason) for v in verdicts]
            for target, verdicts in found.items()
        }

    return run


def first_failure(outcomes: list[tuple[str, str, str]]) -> tuple[str, str]:
    """(gate, reason) of the first verdict that failed."""
    failed = [(gate, reason) for gate, outcome, reason in outcomes if outcome == "failed"]
    assert failed, outcomes
    return failed[0]


@pytest.mark.parametrize("entry", entries(FOLDER / "index.json", QUICK))
def test_an_example_passes_and_its_wrong_twin_fails(entry: Any, verify: Verify) -> None:
    problem, wanted, wrong = FOLDER / entry["problem"], entry["verdicts"], entry["wrong"]
    for target, outcomes in verify(problem, FOLDER / entry["candidate"]).items():
        found = [(gate, outcome) for gate, outcome, _ in outcomes]
        compiled = wanted["compile"][target]
        assert found == [
            ("static", wanted["static"]),
            ("compile", compiled),
            ("correctness", wanted["correctness"]),
        ], outcomes
    for target, outcomes in verify(problem, FOLDER / wrong["candidate"]).items():
        if wrong.get("targets", {}).get(target) == "passed":
            assert {outcome for _, outcome, _ in outcomes} == {"passed"}, outcomes
            continue
        gate, reason = first_failure(outcomes)
        assert gate == wrong["gate"], outcomes
        assert wrong["reason_contains"] in reason


@pytest.mark.parametrize("entry", entries(CHEATS / "index.json", QUICK_REFUSED))
def test_a_cheat_is_turned_down(entry: Any, verify: Verify) -> None:
    assert_turned_down(CHEATS, entry, verify)


@pytest.mark.parametrize("entry", entries(BROKEN / "index.json", QUICK_REFUSED))
def test_a_broken_candidate_is_turned_down(entry: Any, verify: Verify) -> None:
    assert_turned_down(BROKEN, entry, verify)


def assert_turned_down(folder: Path, entry: Any, verify: Verify) -> None:
    for outcomes in verify(folder / entry["problem"], folder / entry["candidate"]).values():
        gate, reason = first_failure(outcomes)
        assert gate in entry["gates"], outcomes
        assert reason


@pytest.fixture(scope="module")
def executor() -> TritonCpuExecutor:
    return TritonCpuExecutor(open_sandbox("bubblewrap"))


@pytest.mark.parametrize("entry", SEEN, ids=lambda entry: entry["name"])
def test_a_cheat_is_seen_even_when_no_parser_saw_it(
    entry: Any,
    verifier: Verifier,
    executor: TritonCpuExecutor,
    subject: Callable[[Path], tuple[str, Subject]],
) -> None:
    _, known = subject((CHEATS / entry["problem"]).resolve())
    calls = [case.call(known.signature) for case in known.cases]
    source = read_candidate(CHEATS / entry["candidate"])
    report = executor.run(source, calls)
    evidence = correctness.evidence(known.cases, report, verifier.preset)
    assert judge("correctness", evidence, verifier.preset) == "failed"


def test_every_file_is_listed() -> None:
    listed = set()
    for entry in json.loads((FOLDER / "index.json").read_text()):
        listed |= {entry["problem"], entry["candidate"], entry["wrong"]["candidate"]}
    assert listed == {path.name for path in FOLDER.glob("*.py")}
    for folder in (CHEATS, BROKEN):
        names = {entry["candidate"] for entry in json.loads((folder / "index.json").read_text())}
        assert names == {path.name for path in folder.glob("*.py")}
