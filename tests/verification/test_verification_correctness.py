"""From a run report to the evidence, the outcome and the one-line reason."""

import numpy as np
import pytest

from kernelvault.execution.contract import CallResult, Fault, NoopReplay, RunReport
from kernelvault.spec.judge import judge
from kernelvault.spec.preset import BASIC
from kernelvault.spec.tensor import Tensor
from kernelvault.spec.workload import Workload, workload_id
from kernelvault.verification import correctness
from kernelvault.verification.subject import Case


class Given:
    """Arguments and expectations of one workload: y = 2 x."""

    def __init__(self, size: int) -> None:
        x = np.arange(1, size + 1, dtype="<f4")
        self.inputs = (Tensor("float32", x),)
        self.scalars = ()
        self.native = (Tensor("float32", 2 * x),)
        self.wide = ((2 * x).astype(np.float64),)


def case(size: int) -> Case:
    shapes = ((size,),)
    identity = workload_id("p", "correctness", 0, 0, shapes, ("float32",))
    given = Given(size)
    workload = Workload(identity, "p", "correctness", 0, 0, shapes, ("float32",))
    return Case(workload, given, given)


CASES = [case(size) for size in (1, 3, 65, 100)]
REPLAY = NoopReplay(launches=1, touched_elements=0)


def report(**changes: object) -> RunReport:
    results = tuple(CallResult(c.workload.workload_id, c.expected.native, True, 1) for c in CASES)
    values = {"results": results, "fault": None, "noop_replay": REPLAY, "facts": {}, "cpu_s": 0.0}
    return RunReport(**{**values, **changes})  # type: ignore[arg-type]


def judged(made: RunReport) -> tuple[str, str]:
    evidence = correctness.evidence(CASES, made, BASIC)
    outcome = judge("correctness", evidence, BASIC)
    return outcome, correctness.reason(evidence, BASIC) if outcome == "failed" else ""


def test_right_results_pass() -> None:
    assert judged(report()) == ("passed", "")


def test_three_workloads_are_too_few() -> None:
    outcome, reason = judged(report(results=report().results[:3]))
    assert outcome == "failed"
    assert "3 workloads, the preset needs 4" in reason


def test_one_workload_four_times_is_still_one() -> None:
    assert judged(report(results=report().results[:1] * 4))[0] == "failed"


def test_a_wrong_element_is_named() -> None:
    results = list(report().results)
    wrong = results[2].outputs[0].data.copy()
    wrong[64] = 0
    results[2] = CallResult(results[2].workload_id, (Tensor("float32", wrong),), True, 1)
    outcome, reason = judged(report(results=tuple(results)))
    assert outcome == "failed"
    for part in ("inputs 65", "1 of 65 elements", "[64]", "expected 130.0", "got 0.0"):
        assert part in reason


@pytest.mark.parametrize(
    ("replay", "text"),
    [
        (NoopReplay(1, 7), "7 output elements changed"),
        (NoopReplay(0, 0), "nothing was launched"),
    ],
)
def test_results_that_no_kernel_computed_fail(replay: NoopReplay, text: str) -> None:
    outcome, reason = judged(report(noop_replay=replay))
    assert outcome == "failed"
    assert text in reason


def test_a_fault_fails_whatever_the_numbers_say() -> None:
    outcome, reason = judged(report(fault=Fault("crash", "died", {}), noop_replay=None))
    assert (outcome, reason) == ("failed", "crash: died")


def test_what_the_tier_does_not_cover_is_no_verdict() -> None:
    fault = Fault("unsupported", "no such builtin", {})
    evidence = correctness.evidence(CASES, report(fault=fault), BASIC)
    assert judge("correctness", evidence, BASIC) == "not_run"
    assert "no such builtin" in evidence["not_run"]
