"""`kernelvault verify` from outside: each kind of kernel meets the gate it should meet."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GOOD = """#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>
#include <stdlib.h>
__global__ void square(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i] < 0 ? 0 : x[i];
  y[i] = v * v;
}
// HELPERS
extern "C" int kv_launch(const kv_args* args) {
  const DLTensor& in = args->inputs[0];
  int64_t n = in.shape[0] * in.shape[1];
  if (n == 0) return 0;
  const float* x = kv_data<const float>(in);
  float* y = kv_data<float>(args->outputs[0]);
  // HOST
  square<<<(unsigned)((n + 63) / 64), 64, 0, args->stream>>>(x, y, n);
  return (int)hipGetLastError();
}
"""
HOST_LOOP = "for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i] * x[i];"
FORGED_LAUNCH = """extern "C" hipError_t hipLaunchKernel(
    const void*, dim3, dim3, void** a, size_t, hipStream_t) {
  const float* x = *(const float**)a[0];
  float* y = *(float**)a[1];
  for (int64_t i = 0; i < *(int64_t*)a[2]; i++) y[i] = x[i] < 0 ? 0 : x[i] * x[i];
  return hipSuccess;
}"""
MPROTECT = 'extern "C" int mprotect(void*, size_t, int) { return 0; }'
# Assembly that no parser of the raw source sees; it could open the tensor pages by a system call.
MACRO_ASM = '#define QUIET(x) asm volatile("syscall" : : "a"(x) : "rcx", "r11", "memory")'
PASTED_ASM = '#define JOIN(a, b) a##b\nJOIN(__a, sm__)(".globl kv_hidden");'
CODE_AS_DATA = (
    '__attribute__((section(".text"), used)) static const unsigned char kv_code[] = {15, 5};'
)
CONSTRUCTOR = "__attribute__((constructor)) static void early() { abort(); }"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attack") / "corpus"


def verify(corpus: Path, source: str, problem: str = "relu_squared") -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON record of one `verify`."""
    candidate = corpus.parent / "candidate.hip"
    candidate.write_text(source)
    command = [sys.executable, "-m", "kernelvault.cli", "verify", problem, str(candidate)]
    command += ["--json", "--corpus", str(corpus)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def failed_gate(corpus: Path, source: str) -> tuple[str, str]:
    """The first gate that did not pass and its reason."""
    code, record = verify(corpus, source)
    assert code == 1 and record["passed"] is False
    verdicts = record["targets"][0]["verdicts"]
    first = next(verdict for verdict in verdicts if verdict["outcome"] != "passed")
    return first["gate"], first["reason"]


def test_a_correct_kernel_passes_every_gate(corpus: Path) -> None:
    code, record = verify(corpus, GOOD)
    assert code == 0 and record["passed"] is True
    outcomes = [(v["gate"], v["outcome"]) for v in record["targets"][0]["verdicts"]]
    gates = ("static", "compile", "correctness")
    assert outcomes == [(gate, "passed") for gate in gates]


@pytest.mark.parametrize(
    ("source", "gate", "reason"),
    [
        (GOOD.replace("v * v", "v + v"), "correctness", "wrong result"),
        (GOOD.replace("// HOST", "*(volatile int*)8 = 1;"), "correctness", "crash"),
        (GOOD.replace("v * v;", "v * v"), "compile", "does not compile"),
        (GOOD.replace("kv_launch", "launch"), "static", "missing_kv_launch"),
        ("", "static", "missing_kv_launch"),
    ],
    ids=["wrong", "crashing", "not_compiling", "no_entry", "empty"],
)
def test_a_bad_kernel_fails_its_gate(corpus: Path, source: str, gate: str, reason: str) -> None:
    found, why = failed_gate(corpus, source)
    assert found == gate and reason in why


def test_a_hanging_kernel_fails_correctness(corpus: Path) -> None:
    hanging = GOOD.replace("y[i] = v * v;", "volatile int on = 1; while (on) {} y[i] = v * v;")
    gate, reason = failed_gate(corpus, hanging)
    assert gate == "correctness" and "timeout" in reason


@pytest.mark.parametrize(
    ("helpers", "host"),
    [("", HOST_LOOP), (FORGED_LAUNCH, ""), (MPROTECT, HOST_LOOP)],
    ids=["decoy_launch", "forged_launch", "forged_mprotect"],
)
def test_host_code_may_not_compute(corpus: Path, helpers: str, host: str) -> None:
    source = GOOD.replace("// HELPERS", helpers).replace("// HOST", host)
    gate, reason = failed_gate(corpus, source)
    assert gate == "correctness" and "host_access" in reason


@pytest.mark.parametrize(
    ("helpers", "host"),
    [(MACRO_ASM, "QUIET(39l);"), (PASTED_ASM, ""), (CODE_AS_DATA, "")],
    ids=["asm_behind_a_macro", "asm_from_pasted_tokens", "code_as_data"],
)
def test_hidden_machine_code_is_refused(corpus: Path, helpers: str, host: str) -> None:
    source = GOOD.replace("// HELPERS", helpers).replace("// HOST", host)
    gate, reason = failed_gate(corpus, source)
    assert gate == "static" and "host_code" in reason


def test_a_constructor_that_aborts_is_the_candidates_crash(corpus: Path) -> None:
    gate, reason = failed_gate(corpus, GOOD.replace("// HELPERS", CONSTRUCTOR))
    assert gate == "correctness" and "crash" in reason


def test_unusable_input_is_reported_as_json(corpus: Path) -> None:
    code, record = verify(corpus, GOOD, problem="no_such_problem")
    assert code == 2 and "no_such_problem" in record["cause"] and record["next_step"]
