"""Triton's gates: parse, compile every launch under a recording driver, run in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelvault.execution.contract import Call, NoopReplay, RunReport
from kernelvault.execution.triton.executor import TritonCpuExecutor
from kernelvault.hashing import content_id
from kernelvault.toolchains.triton.contract import ArgumentShapes, TritonCompile
from kernelvault.toolchains.triton.toolchain import TUNE_LIMIT, TritonToolchain
from kernelvault.verification import static_triton
from kernelvault.verification.contract import Build, Evidence, TargetBuild
from kernelvault.verification.static_hip import Finding
from kernelvault.verification.subject import Subject
from kernelvault.verification.triton_launches import Launches

_LOG = 600


class TritonGates:
    """`LanguageGates` for Triton with the interpreter as executor."""

    language = "triton"

    def __init__(
        self, toolchain: TritonToolchain, executor: TritonCpuExecutor, environment: dict[str, Any]
    ) -> None:
        self._toolchain = toolchain
        self._executor = executor
        self.tier = executor.tier
        self.run_target = executor.target
        self.digest = content_id("toolchain", [toolchain.digest, executor.digest])
        self.environment = environment

    def build(self, source: str, subject: Subject, targets: Sequence[str]) -> Build:
        signature = subject.signature
        tensors, scalars = len(signature.inputs), len(signature.scalars)
        findings = static_triton.parse_findings(source, tensors, scalars)
        if any(finding.severity == "reject" for finding in findings):
            return Build(static_triton.evidence(findings), (), None)
        workloads = shapes(subject)
        compiled = self._toolchain.compile(source, signature, workloads, targets)
        findings = (*findings, *_host_findings(compiled))
        static = static_triton.evidence(findings)
        if any(finding.severity == "reject" for finding in findings):
            return Build(static, (), None)
        made = {c.target: Launches(c, workloads) for c in compiled if c.error is None}
        return Build(static, tuple(map(_target, compiled)), made)

    def run(self, source: str, build: Build, calls: Sequence[Call]) -> RunReport:
        """Run as on each target whose launches differ from those of the targets before it."""
        assert isinstance(build.handle, dict)
        reports: list[RunReport] = []
        seen: list[list[list[str]]] = []
        for target, launches in build.handle.items():
            if launches.everything() in seen:
                continue
            seen.append(launches.everything())
            report = self._executor.run(source, calls, target, launches)
            reports.append(report)
            if report.fault is not None:
                break
        return _joined(reports)


def _joined(reports: Sequence[RunReport]) -> RunReport:
    """One report over the runs for several targets; the last may have ended in a fault."""
    last = reports[-1]
    replays = [report.noop_replay for report in reports if report.noop_replay is not None]
    joined = None
    if last.noop_replay is not None:
        launches = sum(replay.launches for replay in replays)
        joined = NoopReplay(launches, sum(replay.touched_elements for replay in replays))
    return RunReport(
        results=tuple(result for report in reports for result in report.results),
        fault=last.fault,
        noop_replay=joined,
        facts={**last.facts, "runs": len(reports)},
        cpu_s=sum(report.cpu_s for report in reports),
    )


def shapes(subject: Subject) -> tuple[ArgumentShapes, ...]:
    """The native size first, then every distinct set of shapes among the cases."""
    scalars = tuple(spec.value for spec in subject.signature.scalars)
    found = []
    if subject.native is not None:
        users = zip(subject.native.dtypes, subject.native.shapes, strict=True)
        fixed = [
            (spec.dtype, tuple(int(size) for size in spec.shape))
            for spec in subject.signature.inputs
            if spec.kind != "user"
        ]
        native = ArgumentShapes(subject.native.workload_id, (*users, *fixed), scalars, native=True)
        found.append(native)
    seen = {shape.inputs for shape in found}
    for case in subject.cases:
        inputs = tuple((tensor.dtype, tensor.shape) for tensor in case.arguments.inputs)
        if inputs not in seen:
            seen.add(inputs)
            found.append(ArgumentShapes(case.workload.workload_id, inputs, scalars))
    return tuple(found)


def _host_findings(compiled: Sequence[TritonCompile]) -> tuple[Finding, ...]:
    """What running the host code showed that no parser can: tensor computation outside kernels."""
    found = []
    for result in compiled:
        error = result.error or {}
        for name in result.host_compute:
            line = int(error.get("line", 0)) if error.get("kind") == "host_compute" else 0
            text = f"computes aten.{name} outside a kernel"
            if name == "_local_scalar_dense":
                text = "reads a tensor's value on the host"
            found.append(Finding("tensor_compute", "reject", line, text))
    return tuple(dict.fromkeys(found))


def _target(result: TritonCompile) -> TargetBuild:
    error = result.error
    stopped = error is not None and error["kind"] in ("timeout", "memory_limit", "output_flood")
    evidence: Evidence = {
        "target": result.target,
        "exit_code": 0 if error is None else 1,
        "ended": error["kind"] if error is not None and stopped else "exited",
        "host_exit_code": 0 if error is None else 1,
        "code_object_sha256": result.code_object_sha256,
        "kernels": [kernel.name for kernel in result.kernels],
        "diagnostics": _diagnostics(result),
        "launches": list(result.launches),
        "refused_configs": list(result.refused),
        "autotuned": result.tuned,
        "autotune_limit": TUNE_LIMIT,
        "aten": result.aten,
    }
    digest = result.code_object_sha256 if error is None else None
    return TargetBuild(result.target, evidence, result.kernels, digest)


def _diagnostics(result: TritonCompile) -> list[dict[str, Any]]:
    found = []
    if result.error is not None:
        found.append(
            {
                "severity": "error",
                "line": int(result.error["line"]),
                "column": 0,
                "message": str(result.error["message"]),
            }
        )
        if result.log.strip():
            text = result.log.strip()[-_LOG:]
            found.append({"severity": "note", "line": 0, "column": 0, "message": text})
    return found
