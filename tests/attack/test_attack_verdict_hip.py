"""A HIP candidate that got past the static gate cannot turn wrong numbers into a pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import hostile_hip as hostile
import pytest

from kernelvault.problems import catalog
from kernelvault.problems.prepare import prepare
from kernelvault.sandbox import open_sandbox
from kernelvault.settings import resolve
from kernelvault.spec.candidate import make_candidate
from kernelvault.spec.verification import Verdict
from kernelvault.verification import static_hip
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.report import joined
from kernelvault.verification.subject import subject_of

TARGET = "gfx942"
QUICK = {"constructor_forges_and_leaves", "child_forges", "report_descriptor_written"}
# How an attack ends when it ruins itself; all others end in the comparison of their numbers.
ENDS = {
    "report_descriptor_written": "malformed report",
    "every_descriptor_written": "malformed report",
    "report_behind_a_link": "ended early",
    # Stopped in the middle of a file, or not.
    "child_forges": "wrong result|malformed report|ended early",
    "library_functions_overridden": "host_access|crash|wrong result",
}
Judge = Callable[[str], dict[str, Verdict]]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """All gates but the static one, which lets everything pass."""
    settings, sandbox = resolve(), open_sandbox("bubblewrap")
    verifier = make_verifier(settings, sandbox, "hip", (TARGET,))
    prepared = prepare(catalog.find("relu_squared"), settings, sandbox)
    subject = subject_of(prepared)

    def run(text: str) -> dict[str, Verdict]:
        made = make_candidate(prepared.problem.problem_id, "hip", text)
        (verdicts,) = joined(verifier.verify(made, subject)).values()
        return {verdict.gate: verdict for verdict in verdicts}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_hip, "parse_findings", lambda *args: ())
        patch.setattr(static_hip, "built_findings", lambda *args: ())
        patch.setattr(static_hip, "forbidden_symbols", lambda *args: ())
        yield run


def attack(name: str) -> object:
    return pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)


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
    seen = [output for w in verdict.evidence["workloads"] for output in w["outputs"]]
    assert "wrong result" not in verdict.reason or sum(o["mismatches"] for o in seen) > 10_000


@pytest.mark.slow
def test_device_code_makes_no_system_calls_of_its_own(judge: Judge) -> None:
    found = judge(hostile.DEVICE_ASSEMBLY)
    assert found["compile"].outcome == "passed"
    assert found["correctness"].outcome == "failed"
    assert "assembly" in found["correctness"].reason


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="the runner's report is told by the host code's own process")
def test_right_numbers_of_the_host_are_no_kernels(judge: Judge) -> None:
    assert judge(hostile.HOST_COMPUTES)["correctness"].outcome == "failed"
