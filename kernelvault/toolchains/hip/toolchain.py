"""The HIP toolchain: compiles candidates inside a sandbox and reads what came of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from kernelvault.errors import SandboxFault, ToolchainMissing
from kernelvault.hashing import content_id, sha256_bytes
from kernelvault.sandbox.contract import Job, Limits, MiB, Mount, Sandbox, SandboxResult
from kernelvault.settings import Settings
from kernelvault.toolchains.contract import CompileResult, Diagnostic, HostResult
from kernelvault.toolchains.hip import diagnostics, passes
from kernelvault.toolchains.hip.discovery import Tools, find_tools
from kernelvault.toolchains.hip.passes import HOST, SOURCE, Pass, UnsupportedTargetError
from kernelvault.toolchains.hip.symbols import dynamic_symbols, host_hazards
from kernelvault.toolchains.hip.tree import build_once, build_tree, content_key, tree_key
from kernelvault.toolchains.hip.usage import kernel_usage

LIMITS = Limits(wall_s=60.0, cpu_s=60, memory_bytes=4096 * MiB, out_bytes=128 * MiB)
_CODE_VERSION = 3  # raise when this package reads or makes something in another way


def discover(settings: Settings, sandbox: Sandbox, limits: Limits = LIMITS) -> HipToolchain:
    """The HIP toolchain of this machine, its headers laid out in `settings.cache`.

    Raises ToolchainMissing, naming what to install, when there is no compiler or no HIP headers.
    """
    tools = find_tools(settings.rocm_path)
    folder = settings.cache / "hip" / tree_key(tools)[:16]
    tree = build_once(folder, lambda work: build_tree(tools, work))
    return HipToolchain(tools, content_key(tools), tree, sandbox, limits)


_BROKEN_HEADER = re.compile(
    r"fatal error: (file '[^']*prefix\.pch' |malformed or corrupted precompiled|.*PCH file)"
)

# From LLVM's textual form of the host half to an object; flags that matter earlier are in it.
_HOST_CODE = (
    *("-cc1", "-triple", "x86_64-pc-linux-gnu", "-emit-obj", "-O3", "-mrelocation-model", "pic"),
    *("-pic-level", "2", "-w", "-x", "ir"),
)


class HipToolchain:
    """`Toolchain` for HIP. Precompiled headers are made when a target is first asked for."""

    language = "hip"

    def __init__(
        self, tools: Tools, key: str, tree: Path, sandbox: Sandbox, limits: Limits = LIMITS
    ) -> None:
        self._tools = tools
        self._tree = tree
        self._sandbox = sandbox
        self._limits = limits
        self._passes: dict[str, Pass] = {}
        self.clang = tools.clang
        self.lld = tools.lld
        self.version = tools.version
        self.digest = content_id("hip-toolchain", [_CODE_VERSION, key, list(passes.COMMON)])
        # For other compilations of the same source: search flags of a full HIP driver run,
        # the folders of our own headers alone, the folder of HIP's.
        self.driver_flags = passes.include_flags(tools, tree)
        self.include_dirs = (tree / "own", tree / "abi")
        self.hip_include = (tools.rocm or tree / "rocm") / "include"

    def prepare(self, targets: Sequence[str]) -> None:
        """Build the precompiled headers of the host and of all known `targets` now."""
        for target in (HOST, *targets):
            try:
                self._pass(target)
            except UnsupportedTargetError:
                continue  # `compile` reports it

    def compile(self, source: str, targets: Sequence[str]) -> tuple[CompileResult, ...]:
        """Compile for all targets in one sandbox run; one result a target, in order.

        Raises SandboxFault when the sandbox fails, ToolchainMissing when the compiler is broken.
        """
        refused: dict[str, str] = {}
        scripts: list[str] = []
        known: list[str] = []
        for target in dict.fromkeys(targets):
            try:
                scripts.append(self._device_script(target, self._pass(target)))
                known.append(target)
            except UnsupportedTargetError as error:
                refused[target] = str(error)
        made: dict[str, CompileResult] = {}
        if known:
            run = self._run("".join(scripts), source)
            share = run.cpu_s / len(known)
            made = {target: _device_result(target, run, share) for target in known}
        for target, reason in refused.items():
            flags = passes.device_flags(target)
            made[target] = CompileResult(target, 1, (), None, (), flags, 0.0, unsupported=reason)
        return tuple(made[target] for target in targets)

    def compile_host(self, source: str) -> HostResult:
        """Compile and link the host half; HIP's own symbols stay undefined.

        The library embeds a stand-in for the device code, so whoever loads it must supply
        `__hipRegisterFatBinary` and its kin. Raises as `compile` does.
        """
        compiler = shlex.join(self._pass(HOST).ir_command("/out/host.ll"))
        generator = [str(self._tools.clang), *_HOST_CODE, "-o", "/tmp/host.o", "/out/host.ll"]
        link = [
            *(str(self._tools.lld), "-m", "elf_x86_64", "-shared", "--eh-frame-hdr"),
            *("--build-id=none", "-z", "relro", "-o", "/out/host.so", "/tmp/host.o"),
            *("--exclude-libs", "ALL", *map(str, self._tools.builtins)),
        ]
        symbols = [str(self._tools.readelf), "--dyn-syms", "--wide", "/out/host.so"]
        script = (
            f"{compiler} 2>/out/host.err && {shlex.join(generator)} 2>>/out/host.err && "
            f"{shlex.join(link)} 2>>/out/host.err; rc=$?\n"
            f"[ $rc = 0 ] && {shlex.join(symbols)} >/out/host.symbols 2>>/out/host.err\n"
            "echo $rc >/out/host.rc\n"
        )
        run = self._run(script, source)
        code, found = _outcome(HOST, run)
        if code != 0:
            return HostResult(code, (), (), found, None, run.cpu_s, run.ended)
        missing = [n for n in ("host.so", "host.symbols", "host.ll") if not run.files.get(n)]
        if missing:
            # Symbols that nobody can see are not symbols that are not there.
            why = diagnostics.first_error(found, f"the compiler left no {missing[0]}")
            return HostResult(1, (), (), why, None, run.cpu_s, run.ended)
        undefined, exported = dynamic_symbols(_text(run, "host.symbols"))
        library = run.files["host.so"]
        hazards = host_hazards(_text(run, "host.ll"))
        return HostResult(
            0, undefined, exported, found, library, run.cpu_s, run.ended, hazards=hazards
        )

    def _pass(self, target: str) -> Pass:
        if target not in self._passes:
            folder = self._tree.with_name(f"pch-{self._tree.name}-{self.digest[:16]}")
            self._passes[target] = passes.make_pass(self._tools, self._tree, folder, target)
        return self._passes[target]

    def _run(self, script: str, source: str) -> SandboxResult:
        folders = [self._tree, *(item.pch for item in self._passes.values())]
        if self._tools.rocm is not None:
            folders.append(self._tools.rocm)
        job = Job(
            argv=("/bin/sh", "-c", script),
            inputs={Path(SOURCE).name: source.encode("utf-8", "replace")},
            mounts=tuple(Mount(folder) for folder in folders),
            limits=self._limits,
        )
        return self._sandbox.run(job)

    def _device_script(self, target: str, compilation: Pass) -> str:
        """Shell text: compile, link, then read notes and instructions of the code object."""
        image = f"/out/{target}.hsaco"
        objects = f"/tmp/{target}.o"
        link = [str(self._tools.lld), "-m", "elf64_amdgpu", "--no-undefined", "-shared"]
        link += ["-o", image, objects]
        notes = [str(self._tools.readelf), "--notes", image]
        listing = [str(self._tools.objdump), "-d", "--no-show-raw-insn", "--no-leading-addr", image]
        errors = f"/out/{target}.err"
        return (
            f"{shlex.join(compilation.command(objects))} 2>{errors} && "
            f"{shlex.join(link)} 2>>{errors}; rc=$?\n"
            f"if [ $rc = 0 ]; then {shlex.join(notes)} >/out/{target}.notes; "
            f"{shlex.join(listing)} >/out/{target}.s; fi\n"
            f"echo $rc >/out/{target}.rc\n"
        )


def _device_result(target: str, run: SandboxResult, cpu_s: float) -> CompileResult:
    code, found = _outcome(target, run)
    flags = passes.device_flags(target)
    ended = "exited" if f"{target}.rc" in run.files else run.ended
    if code != 0:
        return CompileResult(target, code, (), None, found, flags, cpu_s, ended)
    try:
        if not (image := run.files.get(f"{target}.hsaco")):
            raise ValueError("there is no code object")
        kernels = kernel_usage(
            _text(run, f"{target}.err"), _text(run, f"{target}.notes"), _text(run, f"{target}.s")
        )
    except ValueError as error:
        # A source that got hold of its compiler, not a compiler that is broken.
        why = diagnostics.first_error(found, f"the run left a malformed report: {error}")
        return CompileResult(target, 1, (), None, why, flags, cpu_s, ended)
    digest = sha256_bytes(image)
    return CompileResult(target, 0, kernels, digest, found, flags, cpu_s, ended)


def _outcome(name: str, run: SandboxResult) -> tuple[int, tuple[Diagnostic, ...]]:
    """(exit code, diagnostics) of one pass; a pass that was stopped exits with 1."""
    found = diagnostics.parse(_text(run, f"{name}.err"), SOURCE)
    status = _text(run, f"{name}.rc").strip()
    if re.fullmatch(r"[0-9]{1,3}", status):
        code = int(status)
        if code == 0:
            return 0, found
        _refuse_our_own(code, _text(run, f"{name}.err"))
        return code, diagnostics.first_error(found, f"the compiler ended with status {code}")
    if run.ok:
        raise SandboxFault("the compile script left no status", "run `kernelvault doctor`")
    stopped = f"the compiler was stopped after {run.wall_s:.1f} s: {run.ended}"
    return run.exit_code or 1, diagnostics.first_error(found, stopped)


def _refuse_our_own(code: int, text: str) -> None:
    """Raise for what no source can be blamed for: a program that is missing, a damaged header."""
    if code in (126, 127):
        raise ToolchainMissing(
            f"a program of the compiler cannot be run: {text.strip()[:300]}",
            "run `kernelvault doctor`, then install what is missing",
        )
    if _BROKEN_HEADER.search(text):
        raise ToolchainMissing(
            f"a precompiled header does not fit its compiler: {text.strip()[:300]}",
            "kernelvault cache clear",
        )


def _text(run: SandboxResult, name: str) -> str:
    return run.files.get(name, b"").decode("utf-8", "replace")
