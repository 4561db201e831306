"""A Triton candidate that got past the static gate cannot turn wrong numbers into a pass."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import hostile_triton as hostile
import hostile_triton_compile as hostile_compile
import pytest

from kernelvault.problems import catalog
from kernelvault.problems.prepare import prepare
from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings
from kernelvault.spec.candidate import make_candidate
from kernelvault.spec.verification import Verdict
from kernelvault.verification import static_triton
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.report import joined
from kernelvault.verification.subject import subject_of

TARGET = "gfx942"
QUICK = {"answer_searched", "forged_then_left"}
SLOW = pytest.mark.slow
# How an attack ends when it ruins itself; all others end in the comparison of their numbers.
ENDS = {
    "forged_behind_a_link": "ended the process",
    "forged_as_a_hard_link": "ended the process|wrong result",
    # Stopped in the middle of a file, or not.
    "forged_by_a_thread": "wrong result|malformed report",
    "forged_by_a_child": "wrong result|malformed report",
}
Judge = Callable[[str], dict[str, Verdict]]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """All gates but the static one, which lets everything pass."""
    settings, sandbox = Settings(cache=tmp_path_factory.mktemp("cache")), open_sandbox("bubblewrap")
    verifier = make_verifier(settings, sandbox, "triton", (TARGET,))
    prepared = prepare(catalog.find("relu_squared"), settings, sandbox)
    subject = subject_of(prepared)

    def run(text: str) -> dict[str, Verdict]:
        made = make_candidate(prepared.problem.problem_id, "triton", text)
        (verdicts,) = joined(verifier.verify(made, subject)).values()
        return {verdict.gate: verdict for verdict in verdicts}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_triton, "parse_findings", lambda *args: ())
        yield run


def attack(name: str) -> object:
    return pytest.param(name, marks=() if name in QUICK else SLOW)


def test_the_same_kernel_without_an_attack_passes(judge: Judge) -> None:
    found = judge(hostile.right(hostile.source()))
    assert {gate: v.outcome for gate, v in found.items()} == {
        "static": "passed",
        "compile": "passed",
        "correctness": "passed",
    }


@pytest.mark.parametrize("name", [attack(name) for name in hostile.ATTACKS])
def test_wrong_numbers_stay_wrong(judge: Judge, name: str) -> None:
    found = judge(hostile.ATTACKS[name])
    assert found["static"].outcome == "passed"
    assert found["compile"].outcome == "passed", found["compile"].reason
    verdict = found["correctness"]
    assert verdict.outcome == "failed"
    assert re.search(ENDS.get(name, "wrong result"), verdict.reason), verdict.reason
    judged = {name: verdict.evidence[name] for name in ("workloads", "noop_replay")}
    assert "777" not in re.findall(r"\b\d+\b", json.dumps(judged))


@pytest.mark.slow
def test_a_search_would_find_the_answer_if_it_were_there(judge: Judge) -> None:
    assert "the answer lay about" in judge(hostile.ANSWER_PLANTED)["correctness"].reason


@pytest.mark.slow
def test_a_forged_excuse_is_no_pass(judge: Judge) -> None:
    assert judge(hostile.UNSUPPORTED)["correctness"].outcome == "not_run"


@pytest.mark.parametrize(
    ("running", "gate"), [(True, "correctness"), pytest.param(False, "compile", marks=SLOW)]
)
def test_a_candidate_cannot_pass_its_end_off_as_ours(
    judge: Judge, running: bool, gate: str
) -> None:
    verdict = judge(hostile.source(hostile.LIKE_OURS.format(running)))[gate]
    assert verdict.outcome == "failed"
    assert "ended the process" in verdict.reason


@pytest.mark.parametrize("name", hostile_compile.FORGED_COMPILE)
def test_a_forged_code_object_is_refused(judge: Judge, name: str) -> None:
    found = judge(hostile_compile.FORGED_COMPILE[name])
    assert found["static"].outcome == "passed"
    assert found["compile"].outcome == "failed"
    assert "malformed report" in found["compile"].reason
    assert found["compile"].evidence["kernels"] == []
    assert found["correctness"].outcome == "not_run"


SAME_PROCESS = "what launches and compiles is told by the process in which the host code runs"


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason=SAME_PROCESS)
def test_a_code_object_with_the_right_head_is_refused(judge: Judge) -> None:
    assert judge(hostile_compile.WELL_FORGED_COMPILE)["compile"].outcome == "failed"


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason=SAME_PROCESS)
def test_right_numbers_of_the_host_are_no_kernels(judge: Judge) -> None:
    assert judge(hostile.HOST_COMPUTES)["correctness"].outcome == "failed"
