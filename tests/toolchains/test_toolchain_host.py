"""The host half: what it exports, what it leaves to its loader."""

from __future__ import annotations

from pathlib import Path

from kernelvault.toolchains.hip import HipToolchain

DATA = Path(__file__).parent / "data"


def test_host_half_exports_the_abi_and_leaves_hip_undefined(toolchain: HipToolchain) -> None:
    result = toolchain.compile_host((DATA / "vector_add.hip").read_text())
    assert result.exit_code == 0
    assert {"kv_launch", "kv_workspace_size"} <= set(result.exported_symbols)
    assert {
        "__hipRegisterFatBinary",
        "__hipRegisterFunction",
        "__hipPushCallConfiguration",
        "__hipPopCallConfiguration",
        "hipLaunchKernel",
        "hipGetLastError",
    } <= set(result.undefined_symbols)
    assert not [name for name in result.undefined_symbols if "fatbin" in name]
    assert result.library is not None
    assert result.library.startswith(b"\x7fELF")
    # Kernels are registered under the name they have in the code object.
    assert b"_Z3addPK15HIP_vector_type" in result.library


def test_half_conversions_on_the_host_need_nothing_from_outside(toolchain: HipToolchain) -> None:
    source = (
        "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\n"
        "#include <kernelvault/abi.h>\n"
        'extern "C" int kv_launch(const kv_args* args) {\n'
        "  float value = (float)args->scalars[0].value.f64;\n"
        "  return __half2float(__float2half(value)) + __bfloat162float(__float2bfloat16(value));\n"
        "}\n"
    )
    result = toolchain.compile_host(source)
    assert result.exit_code == 0
    assert not [name for name in result.undefined_symbols if name.endswith("f2")]
    assert "kv_launch" in result.exported_symbols


def test_forbidden_calls_are_visible(toolchain: HipToolchain) -> None:
    source = (
        "#include <hip/hip_runtime.h>\n#include <kernelvault/abi.h>\n#include <stdlib.h>\n"
        'extern "C" int kv_launch(const kv_args*) { return system("true"); }\n'
    )
    result = toolchain.compile_host(source)
    assert "system" in result.undefined_symbols


def test_host_errors_carry_the_line(toolchain: HipToolchain) -> None:
    source = (
        "#include <hip/hip_runtime.h>\n#include <kernelvault/abi.h>\n"
        'extern "C" int kv_launch(const kv_args* args) { return args->missing; }\n'
    )
    result = toolchain.compile_host(source)
    assert (result.exit_code != 0, result.library) == (True, None)
    assert result.diagnostics[0].line == 3


def test_the_host_library_is_deterministic(toolchain: HipToolchain) -> None:
    source = (DATA / "vector_add.hip").read_text()
    assert toolchain.compile_host(source).library == toolchain.compile_host(source).library
