"""Compiles every kernel a Triton candidate launches, exactly as launched, for AMD targets."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kernelvault.errors import SandboxFault, ToolchainMissing
from kernelvault.hashing import content_id, sha256_bytes
from kernelvault.sandbox import Limits, Sandbox, SandboxResult, Task, WarmJob
from kernelvault.sandbox.endings import stopped_at
from kernelvault.sandbox.python import import_path, interpreter, python_mounts
from kernelvault.spec.problem import Signature
from kernelvault.spec.strict import Malformed, printable
from kernelvault.toolchains.triton.contract import ArgumentShapes, TritonCompile
from kernelvault.toolchains.triton.report import (
    ToldCompile,
    read_digest,
    read_kernels,
    read_report,
)

MiB = 1 << 20
INSIDE = Path(__file__).parent / "inside"
LIMITS = Limits(wall_s=90.0, cpu_s=60, memory_bytes=6144 * MiB, out_bytes=128 * MiB, processes=128)
# Configurations of one autotuner that are compiled for the native size; evidence says when there
# were more.
TUNE_LIMIT = 24
_PRELOAD = "kernelvault.toolchains.triton.inside.compile_task"
_LOG = 2000


@cache
def inside_digest() -> str:
    """What results depend on: our code in the sandbox, torch, Triton, Python."""
    code = {path.name: sha256_bytes(path.read_bytes()) for path in sorted(INSIDE.glob("*.py"))}
    try:
        versions = [version(name) for name in ("torch", "triton")]
    except PackageNotFoundError as error:
        step = "pip install 'torch>=2.11' 'triton>=3.6,<3.9'"
        raise ToolchainMissing(f"{error.name} is not installed", step) from error
    return content_id("triton-inside", [code, versions, ".".join(map(str, sys.version_info[:2]))])


class TritonToolchain:
    """Holds one warm sandbox; raises ToolchainMissing when torch or Triton is not installed."""

    language = "triton"

    def __init__(self, sandbox: Sandbox, limits: Limits = LIMITS) -> None:
        self.digest = content_id("triton-toolchain", [inside_digest(), TUNE_LIMIT])
        self.version = f"triton {version('triton')}"
        self._limits = limits
        self._warm = sandbox.warm(
            WarmJob(
                python=interpreter(),
                preload=_PRELOAD,
                mounts=python_mounts((INSIDE,), ("torch", "triton")),
                env={
                    "PYTHONPATH": import_path(),
                    "PYTHONHASHSEED": "0",
                    "TRITON_HOME": "/tmp",
                    # Line tables would put this machine's paths into code objects.
                    "TRITON_DISABLE_LINE_INFO": "1",
                },
                limits=limits,
            )
        )

    def compile(
        self,
        source: str,
        signature: Signature,
        workloads: Sequence[ArgumentShapes],
        targets: Sequence[str],
    ) -> tuple[TritonCompile, ...]:
        """Compile for each target; one result a target, in order.

        Raises SandboxFault when the sandbox or our own code in it fails.
        """
        inputs = task_inputs(source, signature, workloads)
        asked = frozenset(workload.workload_id for workload in workloads)
        return tuple(self._compile(target, inputs, asked) for target in targets)

    def close(self) -> None:
        """End the warm sandbox."""
        self._warm.close()

    def _compile(
        self, target: str, inputs: Mapping[str, bytes], asked: Collection[str]
    ) -> TritonCompile:
        ran = self._run(target, inputs)
        began = time.process_time()
        log = printable(ran.log.decode(errors="replace")[-_LOG:])
        if (error := self._stopped(ran, log)) is not None:
            return TritonCompile(target, error, (), None, (), (), {}, {}, (), log, ran.cpu_s, 0.0)
        try:
            told = self._told(ran, log, asked, target, inputs)
            kernels = read_kernels(target, told, ran.files)
            digest = read_digest(target, told, ran.files)
        except Malformed as error:
            told = ToldCompile.ended("crash", f"the run left a malformed report: {error}")
            kernels, digest = (), None
        return TritonCompile(
            target=target,
            error=None if told.error is None else asdict(told.error),
            kernels=kernels,
            code_object_sha256=digest,
            launches=tuple(launch.plain() for launch in told.launches),
            refused=tuple(map(asdict, told.refused)),
            tuned={name: asdict(tuner) for name, tuner in told.tuned.items()},
            aten=told.aten,
            host_compute=told.host_compute,
            log=log,
            cpu_s=ran.cpu_s,
            evidence_s=time.process_time() - began,
        )

    def _run(self, target: str, inputs: Mapping[str, bytes]) -> SandboxResult:
        return self._warm.run(Task(f"{_PRELOAD}:compile_for", (target, "{in}", "{out}"), inputs))

    def _told(
        self,
        ran: SandboxResult,
        log: str,
        asked: Collection[str],
        target: str,
        inputs: Mapping[str, bytes],
    ) -> ToldCompile:
        """The report. Raises Malformed for one that is no report, SandboxFault when our own code
        fails: then it fails for an empty candidate too."""
        if "report.json" in ran.files:
            source = inputs["candidate.py"].decode("utf-8", "replace")
            return read_report(ran.files["report.json"], asked, source)
        last = (log.strip().splitlines() or [""])[-1][:300]
        if "Traceback" in log:
            empty = self._run(target, {**inputs, "candidate.py": b""})
            if "report.json" not in empty.files:
                raise SandboxFault(f"the Triton compile task left no report: {last}")
        message = f"the host code ended the process with exit code {ran.exit_code}: {last}"
        return ToldCompile.ended("crash", message.removesuffix(": "))

    def _stopped(self, ran: SandboxResult, log: str) -> dict[str, Any] | None:
        if (stop := stopped_at(ran, self._limits)) is not None:
            kind, text = stop
            return {"kind": kind, "message": f"compiling {text}", "line": 0}
        if ran.ended == "signalled":
            told = [line for line in log.splitlines() if "error" in line.lower()]
            why = f": {told[0].strip()[:300]}" if told else ""
            message = f"compiling died of signal {ran.signal}{why}"
            return {"kind": "crash", "message": message, "line": 0}
        return None


def task_inputs(
    source: str, signature: Signature, workloads: Sequence[ArgumentShapes]
) -> dict[str, bytes]:
    """The files of a compile task."""
    job = {
        "tensors": [[spec.name, spec.kind] for spec in signature.inputs],
        "scalars": [spec.name for spec in signature.scalars],
        "tune_limit": TUNE_LIMIT,
        "workloads": [
            {
                "workload_id": workload.workload_id,
                "inputs": [[dtype, list(shape)] for dtype, shape in workload.inputs],
                "scalars": list(workload.scalars),
                "native": workload.native,
            }
            for workload in workloads
        ],
    }
    text = json.dumps(job).encode()
    return {"candidate.py": source.encode("utf-8", "replace"), "job.json": text}
