"""Builds the emulator once a machine, and the device half of candidates in the sandbox."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Protocol

from kernelvault.errors import ToolchainMissing
from kernelvault.execution.cpu.outside import forbidden
from kernelvault.execution.cpu.thunks import transform
from kernelvault.hashing import content_id, sha256_bytes
from kernelvault.sandbox.contract import Job, Limits, MiB, Mount, Sandbox

_FRONT_END = (
    *("-cc1", "-triple", "x86_64-pc-linux-gnu", "-aux-triple", "x86_64-pc-linux-gnu"),
    *("-x", "hip", "-fcuda-is-device", "-fhip-new-launch-api", "-std=c++17", "-O2"),
    *("-fcxx-exceptions", "-fgnuc-version=4.2.1", "-mrelocation-model", "pic", "-pic-level", "2"),
    *("-debug-info-kind=limited", "-dwarf-version=4", "-ferror-limit", "20", "-fno-pch-timestamp"),
    *("-ftemplate-depth=256", "-w"),
)
_CODE_GENERATOR = (
    *("-cc1", "-triple", "x86_64-pc-linux-gnu", "-O2", "-emit-obj"),
    *("-mrelocation-model", "pic", "-pic-level", "2", "-x", "ir"),
)
_PRECOMPILED = (
    "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\n"
    "#include <kernelvault/abi.h>\n"
)
_LIMITS = Limits(wall_s=60, cpu_s=60, memory_bytes=4096 * MiB, out_bytes=256 * MiB)


class HostCompiler(Protocol):
    """What the emulator needs of a HIP toolchain."""

    @property
    def clang(self) -> Path: ...

    @property
    def lld(self) -> Path: ...

    @property
    def digest(self) -> str: ...

    @property
    def include_dirs(self) -> tuple[Path, ...]: ...

    @property
    def hip_include(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class DeviceLibrary:
    """The device half as a shared object, or the log of a compiler that refused it.

    `refused` says what in it no GPU code object can hold.
    """

    library: bytes | None
    log: str
    cpu_s: float
    ended: str
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Emulator:
    """The prepared folder: runner, headers and the precompiled header of the device pass."""

    folder: Path
    compiler: HostCompiler
    system_includes: tuple[str, ...]
    builtins: str
    digest: str

    @property
    def runner(self) -> Path:
        return self.folder / "runner"

    def _front_end(self) -> list[str]:
        return [str(self.compiler.clang), *_FRONT_END, *self._includes()]

    def _includes(self) -> list[str]:
        flags = ["-I", str(self.folder / "include")]
        for path in self.system_includes:
            flag = "-internal-isystem" if "c++" in path or "clang" in path else None
            flags += [flag or "-internal-externc-isystem", path]
        return flags

    def build_device(self, source: str, sandbox: Sandbox) -> DeviceLibrary:
        """Compile the device half of `source`; both compiler runs happen in the sandbox."""
        mounts = (Mount(self.folder),)
        front = (
            *self._front_end(),
            *("-include-pch", str(self.folder / "device.pch")),
            *("-emit-llvm", "-disable-llvm-passes", "-o", "/out/device.ll", "/in/candidate.hip"),
        )
        inputs = {"candidate.hip": source.encode("utf-8", "replace")}
        parsed = sandbox.run(Job(front, inputs, mounts, limits=_LIMITS))
        if not parsed.ok or "device.ll" not in parsed.files:
            log = parsed.log.decode(errors="replace")
            return DeviceLibrary(None, log, parsed.cpu_s, parsed.ended)
        try:
            made = parsed.files["device.ll"].decode("utf-8")
            if asked := forbidden(made):
                return DeviceLibrary(None, "", parsed.cpu_s, parsed.ended, f"it {asked[0]}")
            ir = transform(made)
        except ValueError as error:  # of the decoder, too: no text that a front end writes
            return DeviceLibrary(None, f"its IR: {error}", parsed.cpu_s, parsed.ended)
        clang, lld = self.compiler.clang, self.compiler.lld
        script = (
            f"set -e; {clang} {' '.join(_CODE_GENERATOR)} /in/device.ll -o /tmp/device.o; "
            f"{lld} -shared -o /out/device.so /tmp/device.o {self.builtins}"
        )
        inputs = {"device.ll": ir.encode()}
        built = sandbox.run(Job(("/bin/sh", "-c", script), inputs, mounts, limits=_LIMITS))
        library = built.files.get("device.so") if built.ok else None
        log = built.log.decode(errors="replace")
        return DeviceLibrary(library, log, parsed.cpu_s + built.cpu_s, built.ended)


def open_emulator(cache: Path, compiler: HostCompiler) -> Emulator:
    """The emulator's prepared folder under `cache`, built first if it is not there.

    Raises ToolchainMissing when the machine's compiler cannot build it.
    """
    package = files("kernelvault.execution.cpu")
    parts = [
        entry.read_bytes()
        for folder in ("include/hip", "native")
        for entry in sorted((package / folder).iterdir(), key=lambda e: e.name)
    ]
    parts.append((files("kernelvault") / "abi.h").read_bytes())
    sources = [sha256_bytes(part) for part in parts]
    digest = content_id("emulator", [sources, compiler.digest, list(_FRONT_END)])
    folder = cache / "emulator" / digest[:32]
    clang = str(compiler.clang)
    builtins = _output([clang, "-print-libgcc-file-name", "--rtlib=compiler-rt"]).strip()
    emulator = Emulator(folder, compiler, _system_includes(clang), builtins, digest)
    with _locked(cache):
        if not (folder / "complete").exists():
            _prepare(emulator)
    return emulator


def _prepare(emulator: Emulator) -> None:
    folder, compiler = emulator.folder, emulator.compiler
    shutil.rmtree(folder, ignore_errors=True)
    _lay_out_headers(folder / "include", compiler.include_dirs)
    (folder / "precompiled.hip").write_text(_PRECOMPILED)
    _output(
        [
            *emulator._front_end(),
            *("-emit-pch", "-o", str(folder / "device.pch"), str(folder / "precompiled.hip")),
        ]
    )
    with as_file(files("kernelvault.execution.cpu") / "native") as native:
        _output(
            [
                *(str(compiler.clang), "--driver-mode=g++", "-O2", "-std=c++17", "-rdynamic", "-w"),
                *("-I", str(compiler.hip_include), "-I", str(folder / "include")),
                *("-o", str(folder / "runner"), str(native / "runner.cpp"), "-ldl"),
            ]
        )
    (folder / "complete").touch()


def _lay_out_headers(include: Path, others: Sequence[Path]) -> None:
    """Our device headers, then what the toolchain adds (half precision types), never over ours."""
    (include / "kernelvault").mkdir(parents=True)
    with as_file(files("kernelvault.execution.cpu") / "include") as own:
        shutil.copytree(own, include, dirs_exist_ok=True)
    (include / "kernelvault" / "abi.h").write_bytes((files("kernelvault") / "abi.h").read_bytes())
    for name in ("hip_fp16.h", "hip_bf16.h"):
        for folder in others:
            if (folder / "hip" / name).exists():
                shutil.copy(folder / "hip" / name, include / "hip" / name)


def _system_includes(clang: str) -> tuple[str, ...]:
    text = _output([clang, "--driver-mode=g++", "-x", "c++", "-E", "-v", "/dev/null"])
    found = re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search", text, re.S)
    lines = found.group(1).split() if found else []
    return tuple(str(Path(line).resolve()) for line in lines)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        text = done.stderr.strip()[-600:]
        raise ToolchainMissing(
            f"the CPU emulator could not be built: {text}",
            "install g++ (the C++ standard library) and libclang-rt-22-dev beside clang-22",
        )
    return done.stdout + done.stderr


@contextmanager
def _locked(cache: Path) -> Iterator[None]:
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".emulator.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
