"""Runs the reference worker on one problem file inside the sandbox."""

from __future__ import annotations

import importlib.metadata
import signal
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from kernelvault.errors import InfrastructureError, ProblemRejected, ReferenceFault
from kernelvault.hashing import content_id, sha256_bytes
from kernelvault.problems.manifest import read_rejection
from kernelvault.problems.source import ProblemSource
from kernelvault.sandbox import Job, Limits, Sandbox, SandboxResult
from kernelvault.sandbox.python import import_path, interpreter, python_mounts
from kernelvault.spec.strict import Malformed, printable
from kernelvault.spec.workload import GENERATOR

MiB = 1 << 20
LIMITS = Limits(
    wall_s=120.0,
    cpu_s=60,
    memory_bytes=4096 * MiB,
    tmp_bytes=64 * MiB,
    out_bytes=512 * MiB,
)
_CODE = Path(__file__).parent / "reference"
_STOPPED = ("timeout", "cpu_limit")


@cache
def worker_digest() -> str:
    """What a reference result depends on besides the problem: our worker, torch and NumPy."""
    code = {path.name: sha256_bytes(path.read_bytes()) for path in sorted(_CODE.glob("*.py"))}
    try:
        versions = [importlib.metadata.version(name) for name in ("torch", "numpy")]
    except importlib.metadata.PackageNotFoundError as error:
        step = "pip install torch numpy into this environment"
        raise InfrastructureError(f"{error.name} is not installed", step) from error
    python = ".".join(map(str, sys.version_info[:3]))
    return content_id("worker", [code, versions, python, GENERATOR])


def work(source: ProblemSource, sandbox: Sandbox, limits: Limits = LIMITS) -> Mapping[str, bytes]:
    """Files of the worker: `manifest.json` and `<sha256>.bin` for every tensor.

    Raises ProblemRejected for what the problem file does, ReferenceFault when the worker dies of
    something else, SandboxFault when the sandbox does.
    """
    job = Job(
        argv=(
            str(interpreter()),
            "-P",
            "-s",
            "-m",
            "kernelvault.problems.reference",
            "/in",
            "/out",
        ),
        inputs={"problem.py": source.source.encode("utf-8", "replace")},
        mounts=python_mounts((_CODE,)),
        env={"PYTHONPATH": import_path(), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        limits=limits,
    )
    return _files(source, sandbox.run(job), limits)


def _files(source: ProblemSource, result: SandboxResult, limits: Limits) -> Mapping[str, bytes]:
    if result.ended in _STOPPED:
        text = f"{source.name} did not finish in {limits.cpu_s} CPU seconds"
        raise ProblemRejected("timeout", text, "use smaller sizes in get_cases(kind)")
    if result.ended in ("memory_limit", "output_limit"):
        text = f"{source.name} needs too much memory ({result.ended})"
        raise ProblemRejected("too_large", text, "use smaller sizes in get_cases(kind)")
    if "rejected.json" in result.files:
        raise _rejection(source, result.files["rejected.json"])
    log = printable(result.log.decode(errors="replace").strip())
    if result.ended == "exited" and result.ok and "manifest.json" in result.files:
        return result.files
    if "No module named 'torch'" in log or "No module named 'numpy'" in log:
        raise InfrastructureError(
            "the reference worker cannot import torch or numpy", "run `kernelvault doctor`"
        )
    if result.ended == "exited" and "Traceback" not in log:
        text = f"{source.name} ended the process with exit code {result.exit_code}"
        raise ProblemRejected("import_error", text, "do not exit from a problem file")
    if result.signal is not None and result.signal != signal.SIGKILL:
        text = f"{source.name} crashed the interpreter with signal {result.signal}"
        raise ProblemRejected("crashed", text, "run the file by itself and mend it")
    how = f"signal {result.signal}" if result.signal else f"exit code {result.exit_code}"
    last = log.splitlines()[-1][:300] if log else "no message"
    raise ReferenceFault(f"the reference worker died on {source.name} ({how}): {last}")


def _rejection(source: ProblemSource, raw: bytes) -> ProblemRejected:
    try:
        told = read_rejection(raw)
    except Malformed as error:
        # The file runs beside our worker and can write what it likes.
        return malformed(source, f"a malformed rejection: {error}")
    return ProblemRejected(told.reason, f"{source.name}: {told.cause}", told.next_step)


def malformed(source: ProblemSource, what: str) -> ProblemRejected:
    """The rejection of a file that put something of its own in the place of our worker's files."""
    text = f"{source.name} gave {what}"
    return ProblemRejected("malformed", text, "keep out of the worker's files")
