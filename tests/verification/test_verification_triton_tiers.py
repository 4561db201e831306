"""A Triton candidate cannot behave in one way where it is compiled and in another where it is run;
ordinary forms of launches pass on both."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernelvault.problems import catalog
from kernelvault.problems.prepare import prepare
from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings
from kernelvault.spec.candidate import make_candidate
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.report import failed_gate
from kernelvault.verification.subject import subject_of

Judge = Callable[[str], tuple[str, str] | None]

HEAD = """import torch
import triton
import triton.language as tl


{decorator}@triton.jit
def relu_squared(x, y, n, {extra}BLOCK: tl.constexpr{default}):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    value = tl.maximum(tl.load(x + index, mask=inside, other=0.0), 0.0)
    {store}


@triton.jit
def copied(x, y, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + index, tl.load(x + index, mask=index < n), mask=index < n)


def set_to_zero(name):
    return lambda arguments: arguments[name].zero_()


def module_fn(x):
    y = {allocate}(x)
    n = x.numel()
    grid = (triton.cdiv(n, 1024),)
    tuned = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
{body}
    return y
"""
STORE = "tl.store(y + index, value * value, mask=inside)"
ADD = "tl.atomic_add(y + index, value * value, mask=inside)"
LAUNCH = "    relu_squared[grid](x, y, n, BLOCK=1024)"
TUNED = "    relu_squared[tuned](x, y, n)"


def source(
    body: str = LAUNCH,
    decorator: str = "",
    extra: str = "",
    default: str = "",
    store: str = STORE,
    allocate: str = "torch.empty_like",
) -> str:
    text = HEAD.format(
        body=body, decorator=decorator, extra=extra, default=default, store=store, allocate=allocate
    )
    helper = text.index("def set_to_zero")
    end = text.index("def module_fn")
    # Decorators may use the helper, so it comes first.
    at = text.index("\n\n\n") + 3
    return text[:at] + text[helper:end] + text[at:helper] + text[end:]


def autotune(*configs: str, **options: str) -> str:
    more = "".join(f", {name}={value}" for name, value in options.items())
    return f"@triton.autotune(configs=[{', '.join(configs)}], key=['n']{more})\n"


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    settings, sandbox = Settings(cache=tmp_path_factory.mktemp("cache")), open_sandbox("bubblewrap")
    verifier = make_verifier(settings, sandbox, "triton")
    prepared = prepare(catalog.find("relu_squared"), settings, sandbox)
    subject = subject_of(prepared)

    def run(text: str) -> tuple[str, str] | None:
        made = make_candidate(prepared.problem.problem_id, "triton", text)
        found = failed_gate(verifier.verify(made, subject))
        return None if found is None else (found[0], found[1])

    return run


TWO = ('triton.Config({"BLOCK": 1024})', 'triton.Config({"BLOCK": 512})')
HOOKED = tuple(text.replace("})", '}, pre_hook=set_to_zero("y"))') for text in TWO)
INFINITE = ('triton.Config({"BLOCK": 256, "LOW": float("-inf")})',)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(source(TUNED, default=" = 1024"), id="default of a constant"),
        pytest.param(
            source(TUNED, autotune(*INFINITE), "LOW: tl.constexpr, "), id="infinite constant"
        ),
        pytest.param(
            source(
                TUNED,
                autotune(*TWO, reset_to_zero="['y']"),
                store=ADD,
                allocate="torch.zeros_like",
            ),
            id="reset to zero",
        ),
        pytest.param(
            source(
                "    relu_squared[grid](x, y, n, 1, BLOCK=1024)",
                extra="one, ",
                store="value = value * one.to(tl.float32)\n    " + STORE,
            ).replace("@triton.jit\ndef relu", "@triton.jit(do_not_specialize=['one'])\ndef relu"),
            id="an argument of 1 that stays an argument",
        ),
        pytest.param(
            source(TUNED, autotune(*HOOKED), store=ADD, allocate="torch.zeros_like"),
            id="zeroing hook",
        ),
        pytest.param(
            source(
                "    units = torch.cuda.get_device_properties(x.device).multi_processor_count\n"
                "    relu_squared[(max(units, triton.cdiv(n, 1024)),)](x, y, n, BLOCK=1024)"
            ),
            id="grid by compute units",
        ),
    ],
)
def test_ordinary_forms_pass(judge: Judge, text: str) -> None:
    assert judge(text) is None


ARCH = "triton.runtime.driver.active.get_current_target().arch"
BAD = ", ".join(
    f'triton.Config({{"BLOCK": 256, "N": {n}, "ZERO": {int(n == 7)}}})' for n in range(8)
)


@pytest.mark.parametrize(
    ("text", "gate", "reason"),
    [
        pytest.param(
            source(
                f'    if {ARCH} == "gfx950":\n        copied[grid](x, y, n, BLOCK=1024)\n'
                f"    else:\n    {LAUNCH}"
            ),
            "correctness",
            "wrong result",
            id="wrong on gfx950 only",
        ),
        pytest.param(
            source(
                "    relu_squared[grid](x, y, n, 1, BLOCK=1024)",
                extra="ONE, ",
                store="if isinstance(ONE, tl.tensor):\n        value = value * value\n"
                "    tl.store(y + index, value, mask=inside)",
            ),
            "correctness",
            "wrong result",
            id="an argument of 1",
        ),
        pytest.param(
            source(
                TUNED,
                autotune(BAD),
                "N: tl.constexpr, ZERO: tl.constexpr, ",
                store="tl.store(y + index, value * value * (1 - ZERO), mask=inside)",
            ),
            "correctness",
            "wrong result",
            id="the last of eight configurations",
        ),
        pytest.param(source("    y = x.contiguous()\n" + LAUNCH), "correctness", "", id="in place"),
        pytest.param(source(LAUNCH + "\n    assert n < 0, 10**5000"), "compile", "cannot be shown"),
        pytest.param(
            source(LAUNCH + '\n    e = ValueError("knot")\n    raise e from e'), "compile", "knot"
        ),
        pytest.param(source(LAUNCH + '\n    assert n < 0, "\\ud800"'), "compile", "AssertionError"),
    ],
)
def test_what_differs_or_breaks_is_told(judge: Judge, text: str, gate: str, reason: str) -> None:
    found = judge(text)
    assert found is not None
    assert found[0] == gate, found
    assert reason in found[1]
    assert found[1].isprintable()
