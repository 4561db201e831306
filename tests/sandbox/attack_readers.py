"""Gives files from a sandbox to every reader of the product, as if the product had collected them.

A reader may turn them down; raising anything but its own errors, or believing them, is a failure.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from kernelvault.errors import InfrastructureError, KernelVaultError
from kernelvault.execution.contract import Call, OutputSpec
from kernelvault.execution.cpu.job import read_report
from kernelvault.execution.triton.executor import TritonCpuExecutor
from kernelvault.problems.prepare import prepare
from kernelvault.problems.source import ProblemSource
from kernelvault.sandbox import Job, SandboxResult, Task, WarmJob
from kernelvault.settings import Settings
from kernelvault.spec.problem import Provenance
from kernelvault.spec.tensor import Tensor

_CALL = Call("w", (Tensor("float32", np.zeros(4, np.float32)),), (), (OutputSpec("float32", (4,)),))
_MAX_S = 5.0


class _Collected:
    """Stands where a sandbox would: whatever is run leaves the same files."""

    name = "collected"

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._result = SandboxResult("exited", 0, None, b"", files, 0.1, 0.1)

    def run(self, job: Job | Task) -> SandboxResult:
        return self._result

    def warm(self, job: WarmJob) -> _Collected:
        return self

    def close(self) -> None:
        return


def _problem_manifest(data: bytes, folder: Path) -> bool:
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        settings = replace(Settings(), cache=Path(cache))
        prepare(_source(), settings, _Collected({"manifest.json": data}))
    return True


def _problem_rejection(data: bytes, folder: Path) -> bool:
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        settings = replace(Settings(), cache=Path(cache))
        prepare(_source(), settings, _Collected({"rejected.json": data}))
    return True


def _source() -> ProblemSource:
    return ProblemSource("problem", "", Provenance("none", "none", "none", "NOASSERTION"))


def _triton_report(data: bytes, folder: Path) -> bool:
    return _triton({"report.json": data})


def _triton_array(data: bytes, folder: Path) -> bool:
    report = (
        b'{"fault": null, "cpu_s": 0, "configs": 1, "configs_run": 1, "results": '
        b'[{"deterministic": true, "launches": [], "noop_launches": 0}]}'
    )
    return _triton({"report.json": report, "out_0_0.bin": data, "noop_0_0.bin": data})


def _triton(files: Mapping[str, bytes]) -> bool:
    executor = TritonCpuExecutor(_Collected(files))
    return executor.run("", [_CALL]).fault is None


def _hip_report(data: bytes, folder: Path) -> bool:
    return bool(read_report([_CALL], {"report": data}).results)


def _hip_array(data: bytes, folder: Path) -> bool:
    files = {"report": b"result 0 1 1\ndone\n", "0_0.bin": data}
    return bool(read_report([_CALL], files).results)


_READERS: dict[str, tuple[Callable[[bytes, Path], bool], ...]] = {
    ".json": (_problem_manifest, _problem_rejection, _triton_report, _hip_report),
    ".npy": (_triton_array, _hip_array),
}


def reader_failures(files: Mapping[str, bytes], folder: Path) -> list[str]:
    """What went wrong in readers of the product; `folder` is for what they write."""
    failures = []
    for name, data in sorted(files.items()):
        for reader in _READERS.get(Path(name).suffix, ()):
            what = reader.__name__.removeprefix("_").replace("_", " ")
            started = time.monotonic()
            try:
                if reader(data, folder):
                    failures.append(f"{name} was believed as a {what}")
            except InfrastructureError as error:
                failures.append(f"{name} as a {what} passed for our own fault: {error.cause}")
            except KernelVaultError:
                continue  # turned down
            except Exception as error:  # noqa: BLE001 - which one it is, is the finding
                failures.append(f"{name} as a {what} raised {type(error).__name__}")
            if time.monotonic() - started > _MAX_S:
                failures.append(f"{name} as a {what} took too long")
    return failures
