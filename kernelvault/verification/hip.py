"""HIP's gates: parse, compile both halves, run on the emulated tier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kernelvault.execution.contract import Call, RunReport
from kernelvault.execution.cpu import HipCpuExecutor
from kernelvault.hashing import content_id
from kernelvault.toolchains.contract import CompileResult, Diagnostic, HostResult, Toolchain
from kernelvault.verification import static_hip
from kernelvault.verification.contract import Build, Evidence, TargetBuild
from kernelvault.verification.subject import Subject


class HipGates:
    """`LanguageGates` for HIP with the CPU emulator as executor."""

    language = "hip"

    def __init__(
        self, toolchain: Toolchain, executor: HipCpuExecutor, environment: dict[str, Any]
    ) -> None:
        self._toolchain = toolchain
        self._executor = executor
        self.tier = executor.tier
        self.run_target = executor.target
        self.digest = content_id("toolchain", [toolchain.digest, executor.digest])
        self.environment = environment

    def build(self, source: str, subject: Subject, targets: Sequence[str]) -> Build:
        findings = static_hip.parse_findings(source)
        if any(finding.severity == "reject" for finding in findings):
            return Build(static_hip.evidence(findings), (), None)
        host = self._toolchain.compile_host(source)
        undefined = None
        if host.exit_code == 0:
            undefined = host.undefined_symbols
            exported = host.exported_symbols
            findings += static_hip.built_findings(undefined, exported, host.hazards)
        static = static_hip.evidence(findings, undefined)
        if any(finding.severity == "reject" for finding in findings):
            return Build(static, (), host)
        compiled = self._toolchain.compile(source, targets)
        return Build(static, tuple(_target(result, host) for result in compiled), host)

    def run(self, source: str, build: Build, calls: Sequence[Call]) -> RunReport:
        assert isinstance(build.handle, HostResult)
        return self._executor.run(source, calls, build.handle)


def _target(result: CompileResult, host: HostResult) -> TargetBuild:
    if result.unsupported:
        evidence: Evidence = {"target": result.target, "not_run": result.unsupported}
        return TargetBuild(result.target, evidence, (), None)
    evidence = {
        "target": result.target,
        "exit_code": result.exit_code,
        "ended": result.ended,
        "host_exit_code": host.exit_code,
        "code_object_sha256": result.code_object_sha256,
        "kernels": [kernel.name for kernel in result.kernels],
        "diagnostics": _diagnostics(result.diagnostics or host.diagnostics),
        "flags": list(result.flags),
    }
    return TargetBuild(result.target, evidence, result.kernels, result.code_object_sha256)


def _diagnostics(diagnostics: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    return [asdict(diagnostic) for diagnostic in diagnostics]
