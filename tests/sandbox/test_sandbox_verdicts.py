"""Sandboxes side by side do not disturb each other's verdicts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kernelvault.problems import catalog
from kernelvault.problems.prepare import prepare
from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings
from kernelvault.spec.candidate import make_candidate
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.subject import subject_of

KERNEL = """#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>
#include <stdlib.h>
__global__ void square(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i] < 0 ? 0 : x[i];
  y[i] = VALUE;
}
extern "C" int kv_launch(const kv_args* args) {
  const DLTensor& in = args->inputs[0];
  int64_t n = in.shape[0] * in.shape[1];
  if (n == 0) return 0;
  const float* x = kv_data<const float>(in);
  float* y = kv_data<float>(args->outputs[0]);
  HOST
  square<<<(unsigned)((n + 63) / 64), 64, 0, args->stream>>>(x, y, n);
  return (int)hipGetLastError();
}
"""
SQUARE = "v * v"
# Right ones beside wrong ones, and beside some that use up what they can get.
CANDIDATES = {
    "right": (SQUARE, "", "passed"),
    "right, other text": ("v * v + 0.0f", "", "passed"),
    "right, later": (SQUARE, "for (volatile long i = 0; i < 100000000; ++i) {}", "passed"),
    "zeros": ("0.0f", "", "failed"),
    "not squared": ("v", "", "failed"),
    "aborts": (SQUARE, "abort();", "failed"),
    "out of memory": (
        SQUARE,
        "for (;;) { char* p = (char*)malloc(1 << 20); "
        "if (!p) abort(); for (int i = 0; i < (1 << 20); i += 4096) p[i] = 1; }",
        "failed",
    ),
    "fills its memory and is right": (
        SQUARE,
        "char* p = (char*)malloc(200 << 20); for (int i = 0; i < (200 << 20); i += 4096) p[i] = 1;"
        " free(p);",
        "passed",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_eight_verdicts_at_once_are_those_of_one_after_another(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "docker":
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("docker_address"))
    settings = Settings()
    sandbox = open_sandbox(name)
    verifier = make_verifier(settings, sandbox, "hip")
    prepared = prepare(catalog.find("relu_squared"), settings, sandbox)
    subject = subject_of(prepared)

    def judge(which: str) -> list[tuple[Any, ...]]:
        value, host, _ = CANDIDATES[which]
        source = KERNEL.replace("VALUE", value).replace("HOST", host)
        made = make_candidate(prepared.problem.problem_id, "hip", source)
        return [
            (judged.target, verdict.gate, verdict.outcome, verdict.reason)
            for judged in verifier.verify(made, subject)
            for verdict in judged.verdicts
        ]

    alone = {which: judge(which) for which in CANDIDATES}
    with ThreadPoolExecutor(len(CANDIDATES)) as workers:
        together = dict(zip(CANDIDATES, workers.map(judge, CANDIDATES), strict=True))
    assert together == alone
    for which, (_, _, outcome) in CANDIDATES.items():
        last = alone[which][-1]
        assert last[1:3] == ("correctness", outcome), (which, last)
