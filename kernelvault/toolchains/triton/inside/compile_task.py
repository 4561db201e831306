"""The compile task: run a candidate's host code on tensors without data, for one target, and report
what it launched and what came of compiling it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources

from kernelvault.toolchains.triton.inside import candidate as candidates
from kernelvault.toolchains.triton.inside import device, driver
from kernelvault.toolchains.triton.inside.allowed import AllowedMode
from kernelvault.toolchains.triton.inside.candidate import CandidateError, Names
from kernelvault.toolchains.triton.inside.device import HostComputeError
from kernelvault.toolchains.triton.inside.first_kernel import first

_MESSAGE = 600


def preload() -> None:
    """Do what only the first time costs: imports of PyTorch's modes, a compilation per target."""
    torch.set_num_threads(1)
    warm_up_modes()
    signature = {"values": "*fp32", "count": "i32", "BLOCK": "constexpr"}
    for arch in ("gfx942", "gfx950"):
        source = ASTSource(fn=first, signature=signature, constexprs={(2,): 64}, attrs={})
        triton.compile(source, target=GPUTarget("hip", arch, driver.WAVE), options={})


def warm_up_modes() -> None:
    """Allocate once under both modes, so that what PyTorch imports for it is there."""
    paused = device.Paused()
    with device.DeviceMode("meta", paused), AllowedMode(paused):
        torch.empty(2, 3, device="cuda").t().contiguous()


def compile_for(arch: str, given: str, out: str) -> None:
    """Compile GIVEN/candidate.py for `arch` as GIVEN/job.json says; write OUT/report.json and, for
    each compiled kernel, OUT/<number>.{amdgcn,hsaco}."""
    job = json.loads(Path(given, "job.json").read_text())
    recorder = driver.Recorder()
    paused = device.Paused()
    device.install(arch)
    driver.install(arch, recorder, paused)
    allowed = AllowedMode(paused)
    began = time.process_time()
    error = None
    try:
        with device.DeviceMode("meta", paused), allowed:
            run_all(f"{given}/candidate.py", job, recorder, allowed.model_building)
    except BaseException as raised:  # noqa: BLE001  (a candidate may raise anything at all)
        error = _error(raised)
    kernels = [
        _write(number, kernel, Path(out))
        for number, kernel in enumerate(recorder.compiled.values())
    ]
    numbers = {kernel["hash"]: index for index, kernel in enumerate(kernels)}
    report = {
        "error": error,
        "launches": [
            {**launch, "kernel_index": numbers[launch.pop("hash")]} for launch in recorder.launches
        ],
        "kernels": kernels,
        "refused": recorder.refused,
        "tuned": recorder.tuned,
        "aten": allowed.calls,
        "host_compute": allowed.refused,
        "cpu_s": time.process_time() - began,
    }
    Path(out, "report.json").write_text(json.dumps(report, allow_nan=False))


def run_all(
    path: str, job: dict[str, Any], recorder: driver.Recorder, building: candidates.Building
) -> None:
    """Load the candidate at `path` and call it once for each workload of `job`."""
    names = Names(tuple(map(tuple, job["tensors"])), tuple(job["scalars"]))
    entry = candidates.load(path, names, building)
    for workload in job["workloads"]:
        recorder.workload = workload["workload_id"]
        recorder.tune_limit = job["tune_limit"] if workload["native"] else 1
        before = len(recorder.launches)
        tensors = [_tensor(dtype, shape) for dtype, shape in workload["inputs"]]
        candidates.outputs(entry(tensors, workload["scalars"]))
        if len(recorder.launches) == before:
            raise CandidateError("launches no kernel")


def _tensor(dtype: str, shape: Sequence[int]) -> torch.Tensor:
    return torch.empty(tuple(shape), dtype=getattr(torch, dtype), device="meta")


def _write(number: int, kernel: Any, out: Path) -> dict[str, Any]:
    (out / f"{number}.amdgcn").write_text(kernel.asm["amdgcn"])
    (out / f"{number}.hsaco").write_bytes(kernel.asm["hsaco"])
    metadata = kernel.metadata
    return {
        "hash": metadata.hash,
        "name": kernel.name,
        "num_warps": metadata.num_warps,
        "num_stages": metadata.num_stages,
        "lds_bytes": metadata.shared,
        "options": {
            name: getattr(metadata, name)
            for name in ("waves_per_eu", "matrix_instr_nonkdim", "kpack")
            if hasattr(metadata, name)
        },
    }


def _error(raised: BaseException) -> dict[str, Any]:
    """kind (host_compute, resources, compile, candidate, host) with message and line."""
    chain = candidates.chain(raised)
    for error in chain:
        if isinstance(error, HostComputeError):
            return {"kind": "host_compute", "message": candidates.text(error), "line": _line(error)}
    for error in chain:
        if isinstance(error, OutOfResources):
            return {"kind": "resources", "message": candidates.text(error), "line": _line(raised)}
    located = [error for error in chain if isinstance(error, CompilationError)]
    if located:
        message = _first_words(chain[-1] if len(chain) > len(located) else located[-1])
        return {"kind": "compile", "message": message, "line": _kernel_line(located[-1])}
    kind = "candidate" if isinstance(raised, CandidateError) else "host"
    if _inside_compiler(raised):
        kind = "compile"
    text = candidates.text(raised)
    if kind != "candidate":
        what = "the host code raised " if kind == "host" else ""
        text = f"{what}{type(raised).__name__}: {text}"
    return {"kind": kind, "message": text[:_MESSAGE], "line": _line(raised)}


def _first_words(error: BaseException) -> str:
    if isinstance(error, CompilationError):
        said = error.error_message or candidates.text(error, 10 * _MESSAGE)
        return str(said)[-_MESSAGE:].encode("utf-8", "replace").decode()
    return f"{type(error).__name__}: {candidates.text(error)}"[:_MESSAGE]


def _kernel_line(error: CompilationError) -> int:
    """The line in the candidate's file: Triton counts from the start of the function."""
    text = Path(_path()).read_text()
    start = text.find(error.src) if error.src else -1
    if start < 0 or error.node is None:
        return 0
    return text.count("\n", 0, start) + int(error.node.lineno)


def _path() -> str:
    module = sys.modules.get("candidate")
    return str(module.__file__) if module is not None else ""


def _line(error: BaseException) -> int:
    """The last line of the candidate's file in the traceback, 0 when there is none."""
    found, frame, path = 0, error.__traceback__, _path()
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == path:
            found = frame.tb_lineno
        frame = frame.tb_next
    return found


def _inside_compiler(error: BaseException) -> bool:
    frame = error.__traceback__
    while frame is not None:
        if "/triton/compiler/" in frame.tb_frame.f_code.co_filename:
            return True
        frame = frame.tb_next
    return False
