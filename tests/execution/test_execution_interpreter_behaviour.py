"""The repaired interpreter beyond numbers: the guard, arguments, errors, prints."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TABLE = Path(__file__).parent / "interpreter_table"
INSIDE = Path(__file__).parents[2] / "kernelvault" / "execution" / "triton" / "inside"


@pytest.fixture(scope="module")
def ran() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error::RuntimeWarning", str(TABLE / "behaviour.py")]
    return subprocess.run(
        [*command, str(INSIDE)], capture_output=True, text=True, check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def answers(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return dict(json.loads(ran.stdout))


def test_it_installs_once(answers: dict[str, Any]) -> None:
    assert answers["same guard again"] is None
    assert answers["other guard"][0] == "RuntimeError"


def test_the_guard_sees_every_access_before_it_happens(answers: dict[str, Any]) -> None:
    assert answers["accesses"] == [
        ["load", 4, 1, [1]],
        ["load", 4, 5, [16]],
        ["load", 4, 64, [4, 16]],
        ["store", 4, 64, [4, 16]],
        ["atomic", 4, 5, [16]],
        ["atomic", 4, 16, [16]],
    ]
    assert answers["inside"] is True
    assert answers["outside"] == ["Outside", "load"]


def test_arguments_have_the_types_of_the_compiled_kernel(answers: dict[str, Any]) -> None:
    assert answers["float argument is float32"] < 1e-6
    assert answers["bool argument"] is True
    assert answers["int argument beyond 32 bits"] == 2**31 + 2
    assert answers["int argument wraps at 32 bits"] == -(2**31)
    assert answers["tensor elsewhere"][0] == "TypeError"


def test_launches(answers: dict[str, Any]) -> None:
    assert answers["grid"] == [0, 2, 4, 6, 8, 10]
    assert answers["host descriptor"] == [float(n) for n in range(16, 32)]
    order = [0, 100, 1, 101, 2, 102, 200, 300, 201, 301, 202, 302]
    assert answers["grouped programs"] == order
    assert answers["descriptor rows"] is True
    assert answers["quoted annotations"] == [1.5] * 16
    assert answers["closure"] == [float(n) for n in range(16)]


def test_assertions_are_named(answers: dict[str, Any]) -> None:
    assert answers["device assertion"] == [
        "AssertionError",
        "device assertion failed: x is positive",
    ]
    assert answers["static assertion"] == [
        "AssertionError",
        "static assertion failed: B is too small",
    ]


def test_what_it_cannot_compute_is_refused_by_name(answers: dict[str, Any]) -> None:
    assert answers["assembly"][0] == "Refused"
    assert "inline_asm_elementwise" in answers["assembly"][1]
    assert answers["fp8 in memory"] is True
    assert answers["fp8 sum"][0] == "Refused"
    assert "fadd of fp8e5" in answers["fp8 sum"][1]
    assert answers["refusals that were caught"] == 1
    assert answers["block condition"][0] == "BlockTruth"


def test_prints_do_not_flood(ran: subprocess.CompletedProcess[str]) -> None:
    lines = ran.stderr.splitlines()
    assert 10 < len(lines) < 70
    assert any("value" in line for line in lines)
    assert any("not shown" in line for line in lines)


def test_sums_of_sixteen_bit_numbers_round_at_each_step(answers: dict[str, Any]) -> None:
    """256 and 63 ones in bfloat16: pairs give 257, which is 256 there, then 258, ..., 318."""
    assert answers["sixteen-bit sums round at each step"] == 318.0
