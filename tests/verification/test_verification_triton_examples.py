"""Hand-written Triton kernels pass every gate; wrong twins and cheats fail the one they should."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kernelvault.problems import catalog
from kernelvault.problems.prepare import PreparedProblem, prepare
from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings
from kernelvault.spec.candidate import make_candidate
from kernelvault.spec.provenance import Provenance
from kernelvault.verification.subject import subject_of
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.files import read_candidate
from kernelvault.verification.report import joined

FOLDER = Path(__file__).parents[1] / "triton_examples"
CHEATS, BROKEN = FOLDER / "cheats", FOLDER / "broken"
TARGETS = ("gfx942", "gfx950")

# What runs by default: one of each kind; all others are slow.
QUICK = {"softmax", "matmul", "standardize_bfloat16", "dropout", "row_max", "transpose"}
QUICK_REFUSED = {"decoy", "last_tile", "in_place", "wrong_shape", "writes_past_the_end"}

# (gate, outcome, reason) of every target.
Outcomes = dict[str, list[tuple[str, str, str]]]
Verify = Callable[[Path, Path], Outcomes]


def entries(index: Path, quick: set[str]) -> list[Any]:
    """The entries of an index, those outside `quick` marked slow."""
    return [
        pytest.param(
            entry, id=entry["name"], marks=() if entry["name"] in quick else pytest.mark.slow
        )
        for entry in json.loads(index.read_text())
    ]


@pytest.fixture(scope="module")
def verify(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verify]:
    """Runs the gates as `verify_files` does, over one verifier, whose processes stay warm."""
    settings = Settings(cache=tmp_path_factory.mktemp("cache"))
    sandbox = open_sandbox("bubblewrap")
    verifier = make_verifier(settings, sandbox, "triton", TARGETS)

    @cache
    def prepared(path: Path) -> PreparedProblem:
        return prepare(catalog.from_file(path), settings, sandbox)

    def run(problem: Path, candidate: Path) -> Outcomes:
        known = prepared(problem.resolve())
        text = read_candidate(candidate)
        nowhere = Provenance("", "", candidate.name, "NOASSERTION")
        made = make_candidate(known.problem.problem_id, "triton", text, provenance=nowhere)
        found = joined(verifier.verify(made, subject_of(known)))
        return {
            target: [(v.gate, v.outcome, v.reason) for v in verdicts]
            for target, verdicts in found.items()
        }

    yield run


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


def test_every_file_is_listed() -> None:
    listed = set()
    for entry in json.loads((FOLDER / "index.json").read_text()):
        listed |= {entry["problem"], entry["candidate"], entry["wrong"]["candidate"]}
    assert listed == {path.name for path in FOLDER.glob("*.py")}
    for folder in (CHEATS, BROKEN):
        names = {entry["candidate"] for entry in json.loads((folder / "index.json").read_text())}
        assert names == {path.name for path in folder.glob("*.py")}
