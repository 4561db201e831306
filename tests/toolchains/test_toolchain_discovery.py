"""Finding a compiler, and saying what to install when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelvault.errors import ToolchainMissing
from kernelvault.toolchains.hip import HipToolchain
from kernelvault.toolchains.hip.discovery import find_tools


def test_without_a_compiler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if Path("/opt/rocm").exists():
        pytest.skip("this machine has ROCm")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainMissing) as caught:
        find_tools("")
    assert "clang-22" in caught.value.cause
    assert "apt-get install" in caught.value.next_step
    assert "ROCm" in caught.value.next_step


def test_a_rocm_path_without_a_compiler_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolchainMissing, match=str(tmp_path)):
        find_tools(str(tmp_path))


def test_the_toolchain_describes_itself(toolchain: HipToolchain) -> None:
    assert toolchain.language == "hip"
    assert "clang version" in toolchain.version
    assert len(toolchain.digest) == 64
    own, abi = toolchain.include_dirs
    assert (own / "hip" / "hip_fp16.h").is_file()
    assert (abi / "kernelvault" / "abi.h").is_file()
