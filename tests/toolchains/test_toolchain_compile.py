"""Good kernels compile for both targets, bad ones are told where, hostile ones are bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelvault.sandbox import Limits, open_sandbox
from kernelvault.sandbox.contract import MiB
from kernelvault.settings import Settings
from kernelvault.toolchains.hip import HipToolchain, discover

DATA = Path(__file__).parent / "data"
TARGETS = ("gfx942", "gfx950")
HEAD = "#include <hip/hip_runtime.h>\n"


@pytest.mark.parametrize("name", ["vector_add", "half_arithmetic", "matrix_core"])
def test_good_kernels_compile_for_both_targets(toolchain: HipToolchain, name: str) -> None:
    source = (DATA / f"{name}.hip").read_text()
    results = toolchain.compile(source, TARGETS)
    assert [result.target for result in results] == list(TARGETS)
    for result in results:
        assert (result.exit_code, result.ended, result.unsupported) == (0, "exited", None)
        assert result.code_object_sha256 is not None
        assert not result.diagnostics
        for kernel in result.kernels:
            assert kernel.vgpr > 0 and kernel.sgpr > 0 and kernel.instructions > 5
            assert 1 <= kernel.occupancy <= 8
    first, second = results
    assert first.code_object_sha256 != second.code_object_sha256


def test_usage_shows_wide_loads_lds_and_matrix_instructions(toolchain: HipToolchain) -> None:
    (add,) = toolchain.compile((DATA / "vector_add.hip").read_text(), ["gfx942"])[0].kernels
    assert add.isa["global_load"] == {"dwordx4": 2}
    assert add.isa["global_store"] == {"dwordx4": 1}
    (tile,) = toolchain.compile((DATA / "matrix_core.hip").read_text(), ["gfx942"])[0].kernels
    assert tile.lds_bytes == 512
    assert tile.mfma == 1
    assert tile.isa["mfma_kinds"] == {"v_mfma_f32_16x16x16_f16": 1}
    assert (tile.isa["lds_reads"], tile.isa["lds_writes"]) == (1, 1)


def test_the_code_object_is_deterministic(toolchain: HipToolchain) -> None:
    source = HEAD + (
        "__device__ const char* when = __DATE__ __TIME__;\n"
        "__global__ void k(char* p) { *p = *when; }\n"
    )
    first, second = (toolchain.compile(source, ["gfx942"])[0] for _ in range(2))
    assert first.code_object_sha256 == second.code_object_sha256
    assert first.kernels == second.kernels


@pytest.mark.parametrize(
    ("body", "line", "text"),
    [
        ("__global__ void k(float* x) {\n  x[0] = undeclared(1);\n}\n", 3, "undeclared"),
        ("__global__ void k(float* x) { x[0] = 1.0f }\n", 2, "expected ';'"),
        # The error is inside a HIP header; the user's call led there.
        (
            "__global__ void k(float* x) {\n  x[0] = __shfl_xor_sync(0xffffffff, x[1], 1);\n}\n",
            3,
            "64-bit integer",
        ),
        ("#include <cuda_runtime.h>\n", 2, "file not found"),
    ],
)
def test_errors_carry_the_users_line(
    toolchain: HipToolchain, body: str, line: int, text: str
) -> None:
    (result,) = toolchain.compile(HEAD + body, ["gfx942"])
    assert result.exit_code != 0
    assert result.code_object_sha256 is None
    first = result.diagnostics[0]
    assert (first.severity, first.line) == ("error", line)
    assert text in first.message


def test_lds_over_64_kib_fails_on_gfx942_alone(toolchain: HipToolchain) -> None:
    source = HEAD + (
        "__global__ void k(float* x) {\n  __shared__ float big[20000];\n"
        "  big[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
        "  x[threadIdx.x] = big[63 - threadIdx.x];\n}\n"
    )
    older, newer = toolchain.compile(source, TARGETS)
    assert older.exit_code != 0
    assert older.diagnostics[0].line == 2
    assert "exceeds limit (65536)" in older.diagnostics[0].message
    assert newer.exit_code == 0
    assert newer.kernels[0].lds_bytes == 80000


def test_an_unknown_target_is_unsupported_and_spares_the_others(toolchain: HipToolchain) -> None:
    source = (DATA / "vector_add.hip").read_text()
    known, unknown, odd = toolchain.compile(source, ["gfx942", "gfx999", "sm_90"])
    assert known.exit_code == 0
    for result in (unknown, odd):
        assert result.unsupported and result.exit_code != 0


def test_files_of_the_machine_do_not_leak(toolchain: HipToolchain) -> None:
    (result,) = toolchain.compile('#include "/etc/passwd"\n', ["gfx942"])
    assert result.exit_code != 0
    messages = " ".join(item.message for item in result.diagnostics)
    assert "file not found" in messages
    assert "root:" not in messages


def test_a_template_bomb_is_bounded(toolchain: HipToolchain) -> None:
    source = HEAD + (
        "template <int N> struct Deep { static constexpr long v = Deep<N + 1>::v; };\n"
        "__global__ void k(long* p) { *p = Deep<0>::v; }\n"
    )
    (result,) = toolchain.compile(source, ["gfx942"])
    assert result.exit_code != 0
    assert 1 <= len(result.diagnostics) <= 20
    assert all(len(item.message) <= 400 for item in result.diagnostics)
    assert result.diagnostics[0].severity == "error"
    assert result.cpu_s < 30


def test_an_endless_compilation_is_stopped(tmp_path: Path) -> None:
    limits = Limits(wall_s=3.0, cpu_s=60, memory_bytes=4096 * MiB)
    toolchain = discover(Settings(), open_sandbox("bubblewrap"), limits)
    toolchain.prepare(["gfx942"])
    source = HEAD + (
        "template <int N, long M> struct F {\n"
        "  static constexpr long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v;\n};\n"
        "template <long M> struct F<0, M> { static constexpr long v = M; };\n"
        "__global__ void k(long* p) { *p = F<40, 1>::v; }\n"
    )
    (result,) = toolchain.compile(source, ["gfx942"])
    assert (result.ended, result.code_object_sha256) == ("timeout", None)
    assert result.exit_code != 0
    assert "stopped" in result.diagnostics[0].message
