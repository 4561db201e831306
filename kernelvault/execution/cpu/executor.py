"""Runs HIP candidates on the emulated tier, in the sandbox."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernelvault.errors import SandboxFault
from kernelvault.execution.contract import Call, Fault, NoopReplay, RunReport
from kernelvault.execution.cpu.build import DeviceLibrary, HostCompiler, open_emulator
from kernelvault.execution.cpu.job import Report, read_report, write_job
from kernelvault.execution.limits import stopped
from kernelvault.execution.poison import touched_elements
from kernelvault.sandbox.contract import Job, Limits, MiB, Mount, Sandbox, SandboxResult
from kernelvault.toolchains.contract import HostResult


class HipCpuExecutor:
    """`Executor` for HIP on the CPU. Raises ToolchainMissing when the emulator cannot be built."""

    tier = "emulated"
    target = "wave64"

    def __init__(
        self, cache: Path, sandbox: Sandbox, compiler: HostCompiler, limits: Limits | None = None
    ) -> None:
        self._sandbox = sandbox
        self._emulator = open_emulator(cache, compiler)
        self._limits = limits or Limits(wall_s=40, cpu_s=20, memory_bytes=4096 * MiB)
        self.digest = self._emulator.digest

    def run(self, source: str, calls: Sequence[Call], host: HostResult) -> RunReport:
        """Build the device half, run every call twice, then once more with launches disabled."""
        device = self._emulator.build_device(source, self._sandbox)
        facts = {"build_cpu_s": round(device.cpu_s, 3)}
        if device.library is None or host.library is None:
            return RunReport((), _build_fault(device), None, facts, device.cpu_s)
        job = self.job(device.library, host.library, calls)
        ran = self._sandbox.run(job)
        report = read_report(calls, ran.files)
        facts.update(report.facts)
        cpu_s = device.cpu_s + ran.cpu_s
        if (fault := self._fault(report, ran, len(calls))) is not None:
            return RunReport(report.results, fault, None, facts, cpu_s)
        replay_job = self.job(device.library, host.library, calls[:1], noop=True)
        replayed = self._sandbox.run(replay_job)
        replay = read_report(calls[:1], replayed.files)
        cpu_s += replayed.cpu_s
        if (fault := self._fault(replay, replayed, 1)) is not None:
            message = f"with launches disabled: {fault.message}"
            return RunReport(
                report.results, Fault(fault.kind, message, fault.detail), None, facts, cpu_s
            )
        written = (tensor for result in replay.results for tensor in result.outputs)
        launches = sum(result.launches for result in replay.results)
        seen = NoopReplay(launches, touched_elements(written))
        return RunReport(report.results, None, seen, facts, cpu_s)

    def job(self, device: bytes, host: bytes, calls: Sequence[Call], noop: bool = False) -> Job:
        """The sandboxed command of one run: what a failure bundle needs to repeat it."""
        text, tensors = write_job(calls)
        inputs = {"job": text.encode(), "device.so": device, "host.so": host, **tensors}
        argv = (
            *(str(self._emulator.runner), "/in/job", "/in/device.so", "/in/host.so", "/out"),
            "noop" if noop else "run",
            str(max(1, int(self._limits.wall_s) - 1)),
        )
        return Job(argv, inputs, (Mount(self._emulator.folder),), limits=self._limits)

    def _fault(self, report: Report, ran: SandboxResult, calls: int) -> Fault | None:
        if report.broken is not None:
            raise SandboxFault(f"the runner could not do its part: {report.broken}")
        if report.fault is not None:
            return report.fault
        if (fault := stopped(ran, self._limits)) is not None:
            return fault
        if report.malformed is not None:
            return Fault("crash", f"the run left a malformed report: {report.malformed}")
        if not report.complete or len(report.results) != calls:
            return Fault("crash", f"ended early with exit code {ran.exit_code}")
        return None


def _build_fault(device: DeviceLibrary) -> Fault:
    """Both targets compiled but the emulator's pass did not: something it does not cover, or
    something that only it would be asked for."""
    if device.refused:
        return Fault("build_failed", f"the device code is not for a GPU: {device.refused}")
    if device.ended not in ("exited", "signalled"):
        return Fault("build_failed", f"the emulator's compiler was stopped: {device.ended}")
    first = re.search(r"candidate\.hip:(\d+):\d+: error: (.{0,300})", device.log)
    text = f"line {first[1]}: {first[2]}" if first else device.log.strip()[:300]
    return Fault("unsupported", f"the emulator does not cover this source: {text}")
