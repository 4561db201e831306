"""Ids follow content, illegal records cannot be built, evidence decides outcomes."""

import json
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelvault import errors
from kernelvault.hashing import canonical_json, content_id
from kernelvault.spec.candidate import Attempt, Candidate, attempt_id, make_candidate
from kernelvault.spec.judge import judge
from kernelvault.spec.preset import BASIC
from kernelvault.spec.problem import Domain, Problem, ScalarSpec, Signature, SymbolRange, TensorSpec
from kernelvault.spec.problem import problem_id as make_problem_id
from kernelvault.spec.provenance import Provenance
from kernelvault.spec.rows import from_row, to_row
from kernelvault.spec.verification import KernelUsage, Verdict, Verification, verification_id
from kernelvault.spec.workload import Workload, workload_id

TEXT = st.text(max_size=20)
SPDX = Provenance("repo", "abc", "a/b.py", "MIT")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
DIM = st.integers(0, 10**6) | st.sampled_from(["s0", "s1", "2*s0 + 1"])


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    def tensor(kind: str) -> TensorSpec:
        return TensorSpec(draw(TEXT), kind, draw(TEXT), tuple(draw(st.lists(DIM, max_size=3))))

    value = draw(st.integers(-9, 9) | st.booleans() | st.floats(-1e9, 1e9))
    scalar = ScalarSpec(draw(TEXT), type(value).__name__, value)
    signature = Signature((tensor("user"), tensor("parameter")), (scalar,), (tensor("output"),))
    domain = Domain(
        (SymbolRange("s0", 0, 1, 1, draw(st.none() | st.integers(1, 9))),), ("float32",)
    )
    source = draw(TEXT)
    identity = make_problem_id(source, signature, domain, "train")
    return Problem(
        identity, draw(TEXT), "norm", source, signature, domain, "train", draw(TEXT),
        ("aten.add.Tensor",), "float64", SPDX,
    )  # fmt: skip


@given(problems())
def test_problems_survive_their_row(problem: Problem) -> None:
    row = json.loads(json.dumps(to_row(problem)))
    assert from_row(Problem, row) == problem


@given(TEXT, st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple))
def test_candidates_survive_their_row(source: str, options: tuple[tuple[str, str], ...]) -> None:
    made = make_candidate("p", "hip", source, options, SPDX)
    assert from_row(Candidate, to_row(made)) == made


@given(st.integers(0, 99), st.dictionaries(TEXT, JSON, max_size=4), st.none() | TEXT)
def test_attempts_survive_their_row(
    turn: int, schedule: dict[str, Any], candidate: str | None
) -> None:
    made = Attempt(
        attempt_id("t", turn), "t", turn, "p", "hip", "template", "1",
        "unsupported" if candidate is None else "answered", candidate, schedule, {}, "why", "",
    )  # fmt: skip
    assert from_row(Attempt, to_row(made)) == made


GOOD_STATIC = {"findings": [], "undefined_symbols": [], "forbidden_symbols": []}
GOOD_COMPILE = {
    "target": "gfx942", "exit_code": 0, "host_exit_code": 0, "code_object_sha256": "0" * 64,
    "kernels": ["k"], "diagnostics": [],
}  # fmt: skip
OUTPUT = {"index": 0, "elements": 4, "mismatches": 0}
GOOD_RUN = {
    "fault": None,
    "workloads": [{"workload_id": str(i), "outputs": [OUTPUT]} for i in range(4)],
    "noop_replay": {"launches": 1, "touched_elements": 0},
}


@pytest.mark.parametrize(
    ("gate", "good", "bad"),
    [
        ("static", GOOD_STATIC, {"findings": [{"severity": "reject"}]}),
        ("static", GOOD_STATIC, {"forbidden_symbols": ["open"]}),
        ("compile", GOOD_COMPILE, {"exit_code": 1}),
        ("compile", GOOD_COMPILE, {"host_exit_code": 1}),
        ("compile", GOOD_COMPILE, {"kernels": []}),
        ("compile", GOOD_COMPILE, {"code_object_sha256": None}),
        ("correctness", GOOD_RUN, {"fault": {"kind": "crash"}}),
        ("correctness", GOOD_RUN, {"workloads": GOOD_RUN["workloads"][:3]}),  # type: ignore[index]
        ("correctness", GOOD_RUN, {"workloads": GOOD_RUN["workloads"][:1] * 4}),  # type: ignore[index]
        ("correctness", GOOD_RUN, {"noop_replay": {"launches": 0, "touched_elements": 0}}),
        ("correctness", GOOD_RUN, {"noop_replay": {"launches": 1, "touched_elements": 1}}),
        ("correctness", GOOD_RUN, {"noop_replay": None}),
    ],
)
def test_evidence_decides(gate: str, good: dict[str, Any], bad: dict[str, Any]) -> None:
    assert judge(gate, good, BASIC) == "passed"
    assert judge(gate, {**good, **bad}, BASIC) == "failed"
    assert judge(gate, {"not_run": "why"}, BASIC) == "not_run"
    assert judge(gate, {}, BASIC) == "failed"
    for key in good.keys() - {"undefined_symbols", "target", "diagnostics"}:
        assert judge(gate, {k: v for k, v in good.items() if k != key}, BASIC) == "failed"


@given(st.sampled_from(["static", "compile", "correctness", "sanitize", "?"]), JSON)
def test_unreadable_evidence_never_passes(gate: str, value: Any) -> None:
    evidence = value if isinstance(value, dict) else {"findings": value, "workloads": value}
    assert judge(gate, evidence, BASIC) != "passed"


def verification(**changes: Any) -> Verification:
    values: dict[str, Any] = {
        "candidate_id": "c", "problem_id": "p", "target": "gfx942", "tier": "emulated",
        "preset": "basic", "preset_digest": BASIC.digest, "gate_code_version": "1",
        "toolchain_digest": "t", "passed": True,
        "verdicts": (Verdict("static", "passed", "", GOOD_STATIC),
                     Verdict("compile", "passed", "", GOOD_COMPILE)),
        "kernels": (KernelUsage("k", 1, 2, 0, 0, 0, 0, 64, 8, 10, 0, {"loads": 1}),),
        "code_object_sha256": "0" * 64, "latency_ms": None, "speedup": None,
        "environment": {"a": None}, "host": "h", "started_at": datetime(2026, 1, 1, tzinfo=UTC),
        "seconds": 1.5,
    }  # fmt: skip
    values |= changes
    parts = ("candidate_id", "target", "tier", "preset_digest", "gate_code_version",
             "toolchain_digest")  # fmt: skip
    values.setdefault("verification_id", verification_id(*(values[part] for part in parts)))
    return Verification(**values)


def test_verifications_survive_their_row() -> None:
    made = verification()
    assert from_row(Verification, to_row(made)) == made


@pytest.mark.parametrize(
    "changes",
    [
        {"passed": False},
        {"verdicts": (Verdict("compile", "passed", "", {**GOOD_COMPILE, "exit_code": 1}),)},
        {"verdicts": (Verdict("compile", "failed", "why", GOOD_COMPILE),), "passed": False},
        {"latency_ms": 1.0},
        {"tier": "imagined"},
        {"verification_id": "0" * 64},
        {"verdicts": ()},
    ],
    ids="+".join,
)
def test_illegal_verifications_cannot_be_built(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        verification(**changes)


@pytest.mark.parametrize(("outcome", "reason"), [("passed", "why"), ("failed", ""), ("odd", "x")])
def test_illegal_verdicts_cannot_be_built(outcome: str, reason: str) -> None:
    with pytest.raises(ValueError):
        Verdict("static", outcome, reason, {})


def test_each_part_of_a_verification_key_counts() -> None:
    parts = ["c", "t", "tier", "preset", "gate", "toolchain"]
    ids = {verification_id(*(p + "x" * (i == n) for i, p in enumerate(parts))) for n in range(7)}
    assert len(ids) == 7


def test_each_part_of_a_workload_id_counts() -> None:
    base: tuple[Any, ...] = ("p", "correctness", 0, 0, ((1,),), ("float32",), "native", "c", "g")
    other: tuple[Any, ...] = ("q", "performance", 1, 1, ((2,),), ("int8",), "zeros", "s", "h")
    ids = {workload_id(*base)}
    for place in range(len(base)):
        ids.add(workload_id(*(other[i] if i == place else base[i] for i in range(len(base)))))
    assert len(ids) == len(base) + 1
    with pytest.raises(ValueError):
        Workload("0" * 64, "p", "correctness", 0, 0, ((1,),), ("float32",))


def test_a_candidate_is_its_content() -> None:
    made = make_candidate("p", "hip", "source")
    for changes in ({"source": "other"}, {"problem_id": "q"}, {"options": (("a", "b"),)}):
        with pytest.raises(ValueError):
            replace(made, **changes)  # type: ignore[arg-type]
    assert replace(made, provenance=SPDX).candidate_id == made.candidate_id


@given(st.dictionaries(TEXT, JSON, max_size=5))
def test_canonical_json_ignores_order_and_is_json(value: dict[str, Any]) -> None:
    turned = dict(reversed(list(value.items())))
    assert canonical_json(value) == canonical_json(turned)
    assert json.loads(canonical_json(value)) == value


def test_canonical_json_tells_kinds_apart() -> None:
    kinds = [1, 1.0, "1", True, None, [1], {"1": 1}, "0x1.0000000000000p+0"]
    assert len({content_id("k", value) for value in kinds}) == len(kinds)
    assert content_id("a", 1) != content_id("b", 1)
    with pytest.raises(TypeError):
        canonical_json({1: 2})
    with pytest.raises(TypeError):
        canonical_json({"a": object()})


FAULTS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.KernelVaultError)
]


@pytest.mark.parametrize("kind", FAULTS, ids=lambda k: k.__name__)
def test_faults_cross_processes_whole(kind: type[errors.KernelVaultError]) -> None:
    words = ("cause", "step")
    made = kind("reason", *words) if kind is errors.ProblemRejected else kind(*words)
    again = pickle.loads(pickle.dumps(made))
    assert (again.cause, again.next_step) == words
    assert str(again) == str(made) and "step" in str(made)
    assert again.exit_code in (1, 2, 3)
