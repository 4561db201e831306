"""Lays out, in the cache, the headers and device libraries a HIP compiler needs.

With LLVM alone this is a small ROCm tree (HIP's headers and bitcode come from the installed triton
wheel); with ROCm only our include folders and precompiled headers are added.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from kernelvault.errors import ToolchainMissing
from kernelvault.hashing import content_id
from kernelvault.toolchains.hip.discovery import Tools, triton_backend

PACKAGE = Path(__file__).parents[2]
OWN_HEADERS = PACKAGE / "toolchains" / "hip" / "headers"
ABI_HEADER = PACKAGE / "abi.h"
CANDIDATE_HEADERS = (
    "hip/hip_runtime.h",
    "hip/hip_fp16.h",
    "hip/hip_bf16.h",
    "kernelvault/abi.h",
)
_LAYOUT = 1  # raise when this module lays out another tree from the same parts

_FLAGS = {
    "daz_opt": "__oclc_daz_opt",
    "unsafe_math": "__oclc_unsafe_math_opt",
    "finite_only": "__oclc_finite_only_opt",
    "correctly_rounded_sqrt": "__oclc_correctly_rounded_sqrt32",
}
_ISA = {
    "90a": 9010,
    "942": 9402,
    "950": 9500,
    "1100": 11000,
    "1201": 12001,
}


def header_texts() -> dict[str, str]:
    """Our own headers by include name."""
    texts = {
        str(path.relative_to(OWN_HEADERS)): path.read_text() for path in OWN_HEADERS.rglob("*.h")
    }
    return {**texts, "kernelvault/abi.h": ABI_HEADER.read_text()}


def content_key(tools: Tools) -> str:
    """What the tree is made of, as a hash: compiler, header source, our headers. The same on every
    machine with the same versions, wherever they are installed."""
    source = "rocm" if tools.rocm else triton_backend()[1]
    return content_id("hip-tree", [_LAYOUT, tools.version, source, header_texts()])


def tree_key(tools: Tools) -> str:
    """Names the tree's folder: its headers also hold the compiler's own paths."""
    return content_id("hip-tree-folder", [content_key(tools), str(tools.rocm or tools.clang)])


def build_once(target: Path, build: Callable[[Path], None]) -> Path:
    """`target`, made by `build(temporary folder)` and renamed into place by one process only."""
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            return target
        with tempfile.TemporaryDirectory(dir=target.parent) as name:
            work = Path(name) / "tree"
            work.mkdir()
            build(work)
            for path in [work, *work.rglob("*")]:
                # Sandboxes read these under another user.
                path.chmod(0o755 if path.is_dir() else 0o644)
            os.rename(work, target)  # noqa: PTH104 - one atomic step
    return target


def build_tree(tools: Tools, root: Path) -> None:
    """Write `own/`, `abi/`, `fatbin`, `candidate.hip` and, without ROCm, `rocm/` under `root`.

    `candidate.hip` holds the includes that all candidates share.
    """
    for name, text in header_texts().items():
        part = "abi" if name.startswith("kernelvault/") else "own"
        path = root / part / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    # The host half registers its kernels only when it embeds some device binary.
    (root / "fatbin").write_bytes(b"none\n")
    prefix = "".join(f"#include <{name}>\n" for name in CANDIDATE_HEADERS)
    (root / "candidate.hip").write_text(prefix)
    if tools.rocm is None:
        _small_rocm(tools, root / "rocm")


def _small_rocm(tools: Tools, rocm: Path) -> None:
    backend, _ = triton_backend()
    shutil.copytree(backend / "include", rocm / "include")
    numbers = _hip_version((rocm / "include" / "hip" / "hip_version.h").read_text())
    version = "".join(f"HIP_VERSION_{key}={value}\n" for key, value in numbers.items())
    for path in (rocm / "share" / "hip" / "version", rocm / "bin" / ".hipVersion"):
        path.parent.mkdir(parents=True)
        path.write_text(version)
    bitcode = rocm / "amdgcn" / "bitcode"
    bitcode.mkdir(parents=True)
    for name in ("ocml.bc", "ockl.bc"):
        shutil.copy(backend / "lib" / name, bitcode / name)
    for name, constants in _constants().items():
        _emit_bitcode(tools.clang, bitcode / f"{name}.bc", constants)


def _hip_version(header: str) -> dict[str, str]:
    words = (
        line.split() for line in header.splitlines() if line.startswith("#define HIP_VERSION_")
    )
    values = {w[1].removeprefix("HIP_VERSION_"): w[2] for w in words if len(w) == 3}
    return {key: values[key] for key in ("MAJOR", "MINOR", "PATCH")}


def _constants() -> dict[str, dict[str, tuple[str, int]]]:
    """File name -> constant name -> (C type, value): the switches ROCm's device libraries read."""
    files: dict[str, dict[str, tuple[str, int]]] = {"hip": {}, "opencl": {}}
    for stem, name in _FLAGS.items():
        for word, value in (("on", 1), ("off", 0)):
            files[f"oclc_{stem}_{word}"] = {name: ("unsigned char", value)}
    for word, on, log2 in (("on", 1, 6), ("off", 0, 5)):
        files[f"oclc_wavefrontsize64_{word}"] = {
            "__oclc_wavefrontsize64": ("unsigned char", on),
            "__oclc_wavefrontsize_log2": ("unsigned int", log2),
        }
    for abi in (400, 500, 600):
        files[f"oclc_abi_version_{abi}"] = {"__oclc_ABI_version": ("unsigned int", abi)}
    for name, isa in _ISA.items():
        files[f"oclc_isa_version_{name}"] = {"__oclc_ISA_version": ("unsigned int", isa)}
    return files


def _emit_bitcode(clang: Path, path: Path, constants: dict[str, tuple[str, int]]) -> None:
    attributes = '__attribute__((address_space(4), visibility("protected"))) const'
    source = "".join(
        f"{attributes} {type_name} {name} = {value};\n"
        for name, (type_name, value) in constants.items()
    )
    command = [
        *(str(clang), "-x", "c", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-O1"),
        *("-Xclang", "-mcode-object-version=none", "-emit-llvm", "-c", "-", "-o", str(path)),
    ]
    run_trusted(command, source)


def run_trusted(command: list[str], source: str = "", cwd: Path | None = None) -> str:
    """stderr of one compiler run over our own text; ToolchainMissing when it fails."""
    done = subprocess.run(
        command, input=source, capture_output=True, text=True, timeout=300, check=False, cwd=cwd
    )
    if done.returncode != 0:
        raise ToolchainMissing(
            f"{command[0]} cannot build the HIP headers: {done.stderr.strip()[:800]}",
            "install a complete LLVM 22 or ROCm; the cache folder may be deleted",
        )
    return done.stderr
