"""Triton sources at the edge of what can be judged: the right gate, the right reason, no hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernelvault.problems import catalog
from kernelvault.problems.prepare import prepare
from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings
from kernelvault.spec.candidate import make_candidate
from kernelvault.spec.verification import Verdict
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.subject import subject_of

Judge = Callable[[str], dict[tuple[str, str], Verdict]]

HEAD = """import torch
import triton
import triton.language as tl
"""
KERNEL = """

@triton.jit
def relu_squared(x, y, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.maximum(tl.load(x + index, mask=index < n, other=0.0), 0.0)
    tl.store(y + index, value * value, mask=index < n)
"""
HOST = """

def module_fn(x):
    y = torch.empty_like(x)
    n = x.numel()
    {launch}
    return y
"""
PLAIN = "relu_squared[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)"
TUNED = "relu_squared[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, y, n)"
MANY = """

@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 256 * (1 + k % 2)}, num_warps=1 + k % 2, num_stages=1 + k)
        for k in range(220)
    ],
    key=["n"],
)"""


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    settings, sandbox = Settings(cache=tmp_path_factory.mktemp("cache")), open_sandbox("bubblewrap")
    verifier = make_verifier(settings, sandbox, "triton")
    prepared = prepare(catalog.find("relu_squared"), settings, sandbox)
    subject = subject_of(prepared)

    def run(source: str) -> dict[tuple[str, str], Verdict]:
        made = make_candidate(prepared.problem.problem_id, "triton", source)
        return {
            (v.target, verdict.gate): verdict
            for v in verifier.verify(made, subject)
            for verdict in v.verdicts
        }

    return run


def reasons(found: dict[tuple[str, str], Verdict], gate: str) -> list[str]:
    return [v.reason for (_, name), v in found.items() if name == gate and v.outcome == "failed"]


def evidence(found: dict[tuple[str, str], Verdict], target: str, gate: str) -> dict[str, Any]:
    return found[target, gate].evidence


def test_what_is_launched_is_in_the_evidence(judge: Judge) -> None:
    found = judge(HEAD + KERNEL + HOST.format(launch=PLAIN))
    assert {v.outcome for v in found.values()} == {"passed"}
    launches = evidence(found, "gfx942", "compile")["launches"]
    assert launches[0]["constexprs"]["BLOCK"] == 1024
    assert launches[0]["signature"]["x"] == "*fp32"
    assert any("divisibility" in value for value in launches[0]["attributes"].values())
    ones = [launch for launch in launches if launch["constexprs"].get("n") == 1]
    assert len(ones) == 1  # an argument of 1 is a constant to Triton, and so another kernel


def test_a_tuner_of_220_configurations_is_bounded_and_says_so(judge: Judge) -> None:
    kernel = MANY + KERNEL.removeprefix("\n\n").replace("@triton", "\n@triton")
    found = judge(HEAD + kernel + HOST.format(launch=TUNED))
    assert {v.outcome for v in found.values()} == {"passed"}, found
    facts = evidence(found, "gfx942", "compile")
    assert facts["autotuned"]["relu_squared"] == {"configs": 220, "compiled_at_most": 24}
    assert facts["autotune_limit"] == 24
    assert evidence(found, "wave64", "correctness")["facts"]["configs"] == 220


@pytest.mark.parametrize(
    ("launch", "gate", "reason"),
    [
        ("relu_squared[(1, 70000)](x, y, n, BLOCK=1024)", "compile", "more than a GPU accepts"),
        ("relu_squared[(1 << 27,)](x, y, n, BLOCK=1024)", "compile", "more than a GPU accepts"),
        ("relu_squared[(-1,)](x, y, n, BLOCK=1024)", "compile", "negative grid"),
        ("relu_squared[(1,)](x, y, n, BLOCK=1000)", "compile", "power of 2"),
        ("relu_squared[(1,)](x, y, n, BLOCK=1024, num_warps=64)", "compile", "threads"),
        ("relu_squared[(1,)](x, y, n, BLOCK=1024, num_ctas=2)", "static", "num_ctas"),
        ("relu_squared[(0,)](x, y, n, BLOCK=1024)", "correctness", "got nan"),
        ("relu_squared[(1,)](x, x, n, BLOCK=1024)", "correctness", "writes to input 0"),
        pytest.param(
            "relu_squared[(1 << 22,)](x, y, n, BLOCK=1024)",
            "correctness",
            "timeout",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_odd_launches(judge: Judge, launch: str, gate: str, reason: str) -> None:
    found = judge(HEAD + KERNEL + HOST.format(launch=launch))
    told = reasons(found, gate)
    assert told, {key: (v.outcome, v.reason) for key, v in found.items()}
    assert all(reason in text for text in told), told


def test_another_stream(judge: Judge) -> None:
    launch = f"with torch.cuda.stream(torch.cuda.Stream()):\n        {PLAIN}"
    assert "other_stream" in reasons(judge(HEAD + KERNEL + HOST.format(launch=launch)), "static")[0]
