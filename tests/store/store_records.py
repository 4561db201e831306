"""Small, legal records for the tests of the store, the checkpoint and releases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kernelvault.hashing import sha256_bytes
from kernelvault.spec.candidate import (
    OUR_WORK,
    Attempt,
    Candidate,
    attempt_id,
    make_candidate,
    trajectory_id,
)
from kernelvault.spec.preset import BASIC
from kernelvault.spec.problem import Domain, Problem, ScalarSpec, Signature, TensorSpec, problem_id
from kernelvault.spec.rows import to_row
from kernelvault.spec.verification import KernelUsage, Verdict, Verification, verification_id
from kernelvault.spec.workload import Workload, workload_id

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
SOURCE = 'extern "C" int kv_launch(const kv_args* args) { return %d; }\n'

PASSING: dict[str, dict[str, Any]] = {
    "static": {"findings": [], "undefined_symbols": [], "forbidden_symbols": []},
    "compile": {
        "exit_code": 0,
        "host_exit_code": 0,
        "code_object_sha256": "ab" * 32,
        "kernels": ["k"],
        "diagnostics": [],
    },
    "correctness": {
        "fault": None,
        "workloads": [
            {"workload_id": f"w{i}", "outputs": [{"index": 0, "elements": 8, "mismatches": 0}]}
            for i in range(4)
        ],
        "noop_replay": {"launches": 4, "touched_elements": 0},
    },
}


def problem(number: int = 0) -> Problem:
    source = f"# problem {number}\n"
    tensors = (TensorSpec("x", "user", "float32", ("s0", 8)),)
    out = (TensorSpec("y", "output", "float32", ("s0", 8)),)
    signature = Signature(tensors, (ScalarSpec("alpha", "float", 0.5),), out)
    domain = Domain((), ("float32",))
    identity = problem_id(source, signature, domain, "train")
    family = "softmax" if number % 2 else "elementwise"
    return Problem(
        identity, f"problem_{number}", family, source, signature, domain, "train", f"g{number}",
        ("aten.relu.default",), "float64", OUR_WORK,
    )  # fmt: skip


def workload(of: Problem) -> Workload:
    body = (of.problem_id, "correctness", 0, 7, ((4, 8),), ("float32",))
    return Workload(workload_id(*body), *body)


def candidate(of: Problem, number: int = 0, language: str = "hip") -> Candidate:
    return make_candidate(of.problem_id, language, SOURCE % number, (("wave", "64"),))


def attempt(of: Problem, made: Candidate, turn: int) -> Attempt:
    trajectory = trajectory_id(of.problem_id, made.language, "template", "1", 0)
    return Attempt(
        attempt_id(trajectory, turn), trajectory, turn, of.problem_id, made.language, "template",
        "1", "answered", made.candidate_id, {"block": 256}, {}, "", "",
    )  # fmt: skip


def verification(
    made: Candidate,
    target: str,
    *,
    mismatches: int = 0,
    toolchain: str = "t1",
    age: int = 0,
    tier: str = "emulated",
    sandbox: str = "bubblewrap",
) -> Verification:
    gates = ("correctness",) if target == "wave64" else ("static", "compile")
    verdicts = tuple(_verdict(gate, mismatches) for gate in gates)
    kernels = () if target == "wave64" else (_usage("k", 24), _usage("l", 40))
    identity = verification_id(made.candidate_id, target, tier, BASIC.digest, "g1", toolchain)
    return Verification(
        identity, made.candidate_id, made.problem_id, target, tier, "basic", BASIC.digest,
        "g1", toolchain, all(v.outcome == "passed" for v in verdicts), verdicts, kernels,
        None if target == "wave64" else sha256_bytes(target.encode()), None, None,
        {"sandbox": sandbox}, "host", START - timedelta(days=age), 0.25,
    )  # fmt: skip


def _verdict(gate: str, mismatches: int) -> Verdict:
    evidence = PASSING[gate]
    if gate == "correctness" and mismatches:
        wrong = [{"index": 0, "elements": 8, "mismatches": mismatches}]
        workloads = [{**w, "outputs": wrong} for w in evidence["workloads"]]
        return Verdict(gate, "failed", "numbers differ", {**evidence, "workloads": workloads})
    return Verdict(gate, "passed", "", evidence)


def _usage(name: str, vgpr: int) -> KernelUsage:
    return KernelUsage(name, vgpr, 16, 0, 0, 0, 0, 512, 8, 100, 0, {"v_add_f32": 3})


def unit(number: int, *, mismatches: int = 0) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    """One attempt with everything it refers to, as the loop spools it."""
    of = problem(number % 3)
    made = candidate(of, number)
    tried = attempt(of, made, number)
    judged = [
        verification(made, target, mismatches=mismatches)
        for target in ("gfx942", "gfx950", "wave64")
    ]
    rows = {
        "problems": [to_row(of)],
        "workloads": [to_row(workload(of))],
        "candidates": [to_row(made)],
        "attempts": [to_row(tried)],
        "verifications": [to_row(record) for record in judged],
    }
    return tried.attempt_id, rows
