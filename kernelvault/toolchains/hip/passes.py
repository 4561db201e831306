"""The compiler's inner commands (`-cc1`), each with a precompiled header.

Parsing HIP's headers costs about a CPU second; a precompiled header saves it. The driver offers
none for HIP, so its own inner command line is asked for once and rewritten.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernelvault.errors import ToolchainMissing
from kernelvault.toolchains.hip.discovery import Tools
from kernelvault.toolchains.hip.tree import build_once, run_trusted

HOST = "host"
SOURCE = "/in/candidate.hip"
FLAGS = ("-O3", "-std=c++17")
# A fixed id: by default the compiler derives names from the file's path.
COMMON = (
    *(*FLAGS, "-cuid=kv", "-fno-color-diagnostics", "-fno-caret-diagnostics"),
    # The clock may not change a code object; SOURCE_DATE_EPOCH is not enough here.
    *("-Wno-builtin-macro-redefined", '-D__DATE__="Jan  1 1970"', '-D__TIME__="00:00:00"'),
    '-D__TIMESTAMP__="Thu Jan  1 00:00:00 1970"',
)
_WRAPPER = ("-include", "__clang_hip_runtime_wrapper.h")
_TARGET = re.compile(r"gfx[0-9a-f]{3,6}")


class UnsupportedTargetError(Exception):
    """This compiler does not know the target."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One compilation pass: `command(output)` is its argv; `pch` the folder it reads."""

    words: tuple[str, ...]
    pch: Path

    def command(self, output: str) -> list[str]:
        """argv that compiles `SOURCE` to the object file `output`."""
        header = ["-include-pch", str(self.pch / "prefix.pch")]
        return [*self.words, *header, "-o", output, "-x", "hip", SOURCE]

    def ir_command(self, output: str) -> list[str]:
        """argv that compiles `SOURCE` to LLVM's textual form instead."""
        return ["-emit-llvm" if word == "-emit-obj" else word for word in self.command(output)]


def device_flags(target: str) -> tuple[str, ...]:
    """The flags a user would give the driver for this target."""
    return ("-x", "hip", f"--offload-arch={target}", "--cuda-device-only", *FLAGS)


def include_flags(tools: Tools, tree: Path) -> tuple[str, ...]:
    """Where the driver finds ROCm, our headers and the ABI header."""
    abi = f"-I{tree / 'abi'}"
    if tools.rocm is not None:
        return (f"--rocm-path={tools.rocm}", abi)
    return (f"--rocm-path={tree / 'rocm'}", f"-I{tree / 'own'}", abi)


def make_pass(tools: Tools, tree: Path, folder: Path, target: str) -> Pass:
    """The pass for `target` (or `HOST`), its precompiled header built in `folder` when missing.

    Raises UnsupportedTargetError for a target the compiler does not know.
    """
    if target != HOST and not _TARGET.fullmatch(target):
        raise UnsupportedTargetError(f"{target!r} is not a name of an AMD architecture")
    place = folder / target

    def build(work: Path) -> None:
        words = _inner_command(tools, tree, target)
        source = str(tree / "candidate.hip")
        header = [
            *words,
            *_WRAPPER,
            "-fpch-instantiate-templates",
            "-o",
            str(work / "prefix.pch"),
            "-x",
            "hip",
            source,
        ]
        run_trusted(["-emit-pch" if w == "-emit-obj" else w for w in header], cwd=tree)
        (work / "command.json").write_text(json.dumps(words))

    build_once(place, build)
    return Pass(tuple(json.loads((place / "command.json").read_text())), place)


def _inner_command(tools: Tools, tree: Path, target: str) -> list[str]:
    """The driver's -cc1 words without input, output and forced include."""
    if target == HOST:
        part = ["--cuda-host-only", "--offload-arch=gfx942", "-fPIC"]
    else:
        part = [f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output"]
        part.append("-Rpass-analysis=kernel-resource-usage")
    driver = [
        *(str(tools.clang), "-###", "-x", "hip", *part, *COMMON, *include_flags(tools, tree)),
        *("-c", str(tree / "candidate.hip"), "-o", "candidate.o"),
    ]
    done = subprocess.run(driver, capture_output=True, text=True, timeout=60, check=False)
    text = done.stderr
    if done.returncode != 0:
        errors = [line for line in text.splitlines() if "error:" in line]
        if target != HOST and re.search(rf"architecture|{target}|{target[3:]}", " ".join(errors)):
            raise UnsupportedTargetError(
                f"{tools.version} cannot compile for {target}: {errors[0]}"
            )
        raise ToolchainMissing(f"the HIP driver fails: {text.strip()[:500]}", "mend the compiler")
    lines = (shlex.split(line) for line in text.splitlines() if line.startswith(' "'))
    words = next(line for line in lines if "-cc1" in line)
    return _rewrite(words, tree)


def _rewrite(words: list[str], tree: Path) -> list[str]:
    kept: list[str] = []
    skip = 0
    for at, word in enumerate(words[: words.index("-x")] if "-x" in words else words):
        if skip:
            skip -= 1
        elif word == "-o" or (word == "-include" and words[at + 1] == _WRAPPER[1]):
            skip = 1
        elif not word.startswith(("-fdebug-compilation-dir", "-fcoverage-compilation-dir")):
            kept.append(word)
    # Files are compared by size, not by time: the same header must serve inside a sandbox.
    kept += ["-fno-pch-timestamp", "-fdebug-compilation-dir=/"]
    if "-fcuda-is-device" not in kept:
        kept += ["-fcuda-include-gpubinary", str(tree / "fatbin")]
    return kept
