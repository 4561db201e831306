"""The static gate on sources and symbols."""

import pytest

from kernelvault.verification.static_hip import (
    built_findings,
    evidence,
    forbidden_symbols,
    parse_findings,
)

GOOD = """#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>
__global__ void k(float* x) { x[threadIdx.x] = 1.f; }
extern "C" int kv_launch(const kv_args* a) {
  k<<<1, 64, 0, a->stream>>>((float*)a->outputs[0].data);
  return 0;
}
"""


def rules(source: str) -> list[str]:
    return [finding.rule for finding in parse_findings(source) if finding.severity == "reject"]


def test_a_good_source_has_no_rejects() -> None:
    assert rules(GOOD) == []


@pytest.mark.parametrize(
    "line",
    [
        "#include <fstream>",
        "#include <thread>",
        '#include "/etc/passwd"',
        "#include <torch/extension.h>",
        "#include <rocblas/rocblas.h>",
        "#  include   <dlfcn.h>",
        "#include HEADER",
    ],
)
def test_headers_off_the_list_are_rejected_with_their_line(line: str) -> None:
    found = parse_findings(f"{GOOD}{line}\n")
    assert [(f.rule, f.line) for f in found if f.severity == "reject"] == [("include", 8)]


def test_comments_and_strings_are_not_code() -> None:
    assert rules(GOOD + '// #include <fstream>\nconst char* s = "asm(nop)";\n') == []


def test_inline_assembly_is_rejected() -> None:
    assert rules(GOOD + 'void f() { asm volatile("syscall"); }\n') == ["inline_assembly"]


def test_size_and_text() -> None:
    assert rules("// " + "x" * (300 * 1024)) == ["source_too_large"]
    assert rules("int a;\0") == ["not_text"]


@pytest.mark.parametrize(
    "symbol", ["hipLaunchKernel", "memcpy", "expf", "_Znwm", "__cxa_atexit", "memcpy@GLIBC_2.14"]
)
def test_symbols_a_candidate_needs_are_allowed(symbol: str) -> None:
    assert forbidden_symbols([symbol]) == ()


@pytest.mark.parametrize(
    "symbol",
    ["open", "fopen", "mprotect", "syscall", "dlsym", "fork", "system", "pthread_create",
     "hipMalloc", "hipMemcpy", "hipStreamCreate", "rocblas_sgemm", "clock_gettime", "getenv"],
)  # fmt: skip
def test_symbols_that_reach_around_the_harness_are_not(symbol: str) -> None:
    assert forbidden_symbols([symbol, "expf"]) == (symbol,)
    assert evidence((), [symbol])["forbidden_symbols"] == [symbol]


def test_a_missing_entry_point_is_named() -> None:
    found = built_findings(["hipLaunchKernel"], ["something_else"])
    assert [finding.rule for finding in found] == ["missing_kv_launch"]
