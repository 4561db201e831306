"""Runs Triton candidates on the emulated tier: Triton's own interpreter, repaired and guarded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

from kernelvault.errors import SandboxFault
from kernelvault.execution.contract import Call, CallResult, Fault, NoopReplay, RunReport
from kernelvault.execution.limits import stopped
from kernelvault.execution.poison import touched_elements
from kernelvault.execution.triton.report import (
    ToldFault,
    ToldRun,
    read_outputs,
    read_report,
)
from kernelvault.hashing import content_id, sha256_bytes
from kernelvault.sandbox import Limits, Sandbox, SandboxResult, Task, WarmJob
from kernelvault.sandbox.python import import_path, interpreter, python_mounts
from kernelvault.spec.strict import Malformed, printable
from kernelvault.toolchains.triton.toolchain import INSIDE as SHARED
from kernelvault.toolchains.triton.toolchain import inside_digest

MiB = 1 << 20


class CompiledLaunches(Protocol):
    """What was launched, call by call, when a candidate was compiled for an architecture."""

    def of(self, call: Call) -> list[str]:
        """The launches for a call's shapes, in order, each in words."""
        ...

    def identity(self, launch: Mapping[str, Any]) -> str:
        """A launch (kernel, grid, constexprs) in the same words."""
        ...


INSIDE = Path(__file__).parent / "inside"
LIMITS = Limits(wall_s=60, cpu_s=40, memory_bytes=6144 * MiB, out_bytes=256 * MiB, processes=128)
_TASK = "kernelvault.execution.triton.inside.run_task"
_KINDS = frozenset(("unsupported", "out_of_bounds", "host_compute", "wrong_output", "error"))


class TritonCpuExecutor:
    """Holds one warm sandbox; raises ToolchainMissing when torch or Triton is not installed."""

    tier = "emulated"
    target = "wave64"

    def __init__(self, sandbox: Sandbox, limits: Limits = LIMITS) -> None:
        code = {
            str(path.relative_to(INSIDE)): sha256_bytes(path.read_bytes())
            for path in sorted(INSIDE.rglob("*.py"))
        }
        self.digest = content_id("triton-interpreter", [code, inside_digest()])
        self._limits = limits
        self._warm = sandbox.warm(
            WarmJob(
                python=interpreter(),
                preload=_TASK,
                mounts=python_mounts((SHARED, INSIDE), ("torch", "triton", "numpy")),
                env={
                    "PYTHONPATH": import_path(),
                    "PYTHONHASHSEED": "0",
                    "TRITON_INTERPRET": "1",
                    "TRITON_HOME": "/tmp",
                },
                limits=limits,
            )
        )

    def run(
        self,
        source: str,
        calls: Sequence[Call],
        arch: str = "gfx942",
        compiled: CompiledLaunches | None = None,
    ) -> RunReport:
        """Run every call twice and once with launches disabled; the first fault ends the run.

        Host code is told that it has an `arch`, and must launch what it launched when it was
        compiled for it, where that is known. An autotuner with more configurations than there
        are calls gets more runs of them.

        Raises SandboxFault when the sandbox or our own code in it fails.
        """
        inputs = _inputs(source, calls)
        ran = self._task(arch, inputs)
        if (fault := stopped(ran, self._limits)) is not None:
            return RunReport((), fault, None, {}, ran.cpu_s)
        try:
            told = self._told(ran, calls, arch, inputs)
            made = [
                read_outputs(index, calls[index % len(calls)], ran.files)
                for index in range(len(told.results))
            ]
        except Malformed as error:
            fault = Fault("crash", f"the run left a malformed report: {error}")
            return RunReport((), fault, None, {}, ran.cpu_s)
        results = tuple(
            CallResult(result.workload_id, outputs.ran, result.deterministic, len(result.launches))
            for result, outputs in zip(told.results, made, strict=True)
        )
        fault = _fault(told.fault)
        if fault is None and compiled is not None:
            fault = _changed_launches(told, calls, arch, compiled)
        facts = {
            "interpreter_cpu_s": round(ran.cpu_s, 3),
            "configs": told.configs,
            "configs_run": told.configs_run,
            "deterministic": all(result.deterministic for result in results),
        }
        if fault is not None:
            return RunReport(results, fault, None, facts, ran.cpu_s)
        # No more than what was compared with what was compiled.
        launches = sum(min(r.noop_launches, len(r.launches)) for r in told.results)
        noops = [tensor for outputs in made for tensor in outputs.untouched]
        seen = NoopReplay(launches, touched_elements(noops))
        return RunReport(results, None, seen, facts, ran.cpu_s)

    def _task(self, arch: str, inputs: Mapping[str, bytes]) -> SandboxResult:
        return self._warm.run(Task(f"{_TASK}:run", (arch, "{in}", "{out}"), inputs))

    def _told(
        self, ran: SandboxResult, calls: Sequence[Call], arch: str, inputs: Mapping[str, bytes]
    ) -> ToldRun:
        """The report. Raises Malformed for one that is no report, SandboxFault when our own code
        fails: then it fails for an empty candidate too."""
        if "report.json" in ran.files:
            return read_report(ran.files["report.json"], calls)
        text = ran.log.decode(errors="replace").strip()
        last = printable((text.splitlines() or [""])[-1][:300])
        if "Traceback" in text:
            empty = self._task(arch, {**inputs, "candidate.py": b""})
            if "report.json" not in empty.files:
                raise SandboxFault(f"the Triton run task left no report: {last}")
        message = f"ended the process with exit code {ran.exit_code}: {last}"
        crash = ToldFault("error", message.removesuffix(": "))
        return ToldRun(crash, (), 1, 1, 0.0)

    def close(self) -> None:
        """End the warm sandbox."""
        self._warm.close()


def _inputs(source: str, calls: Sequence[Call]) -> dict[str, bytes]:
    """The task's files; calls that share a tensor object share its file."""
    files = {"candidate.py": source.encode("utf-8", "replace")}
    names: dict[int, str] = {}
    listed = []
    for call in calls:
        tensors = []
        for tensor in call.inputs:
            name = names.setdefault(id(tensor), f"tensor{len(names)}.bin")
            files[name] = tensor.data.tobytes()
            tensors.append([name, tensor.dtype, list(tensor.shape)])
        listed.append(
            {
                "workload_id": call.workload_id,
                "inputs": tensors,
                "scalars": list(call.scalars),
                "outputs": [[spec.dtype, list(spec.shape)] for spec in call.outputs],
            }
        )
    signature = calls[0].signature
    job = {
        "tensors": [[spec.name, spec.kind] for spec in signature.inputs],
        "scalars": [spec.name for spec in signature.scalars],
        "calls": listed,
    }
    return {**files, "job.json": json.dumps(job).encode()}


def _fault(told: ToldFault | None) -> Fault | None:
    if told is None:
        return None
    kind = told.kind if told.kind in _KINDS else "error"
    detail = {"workload_id": told.workload_id} if told.workload_id else {}
    return Fault(kind, told.message, detail)


def _changed_launches(
    told: ToldRun, calls: Sequence[Call], arch: str, compiled: CompiledLaunches
) -> Fault | None:
    """A fault when a call launched other kernels, grids or constants than were compiled for it."""
    for index, result in enumerate(told.results):
        call = calls[index % len(calls)]
        ran = [compiled.identity(launch.plain()) for launch in result.launches]
        wanted = compiled.of(call)
        if ran != wanted:
            pairs = zip_longest(ran, wanted)
            place = next(n for n, (left, right) in enumerate(pairs) if left != right)
            got = ran[place] if place < len(ran) else "nothing"
            built = wanted[place] if place < len(wanted) else "nothing"
            text = f"launch {place + 1} is {got}, compiled for {arch} was {built}"
            return Fault("other_launches", text, {"workload_id": call.workload_id})
    return None
