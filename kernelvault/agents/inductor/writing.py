"""Asks the writer in the sandbox, once for each problem, and keeps its answers."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from kernelvault.agents.contract import ProblemView
from kernelvault.agents.inductor.names import tensor_names
from kernelvault.agents.inductor.variants import VARIANTS
from kernelvault.errors import InfrastructureError
from kernelvault.hashing import canonical_json, content_id, sha256_bytes
from kernelvault.sandbox import Limits, Sandbox, SandboxResult, Task, WarmJob
from kernelvault.sandbox.python import import_path, interpreter, python_mounts
from kernelvault.settings import Settings
from kernelvault.spec.rows import plain
from kernelvault.spec.strict import AtMost, Malformed, Text, loads, printable, record

MiB = 1 << 20
LIMITS = Limits(
    wall_s=120.0,
    cpu_s=60,
    memory_bytes=4096 * MiB,
    tmp_bytes=128 * MiB,
    out_bytes=8 * MiB,
)
_OWN = Path(__file__).parent
_TASK = "kernelvault.agents.inductor.writer.run_task"
_TOO_MUCH = ("timeout", "cpu_limit", "memory_limit", "output_limit")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the writer made of one variant: a source, or (None) the reason why there is none."""

    source: Annotated[str, AtMost(MiB)] | None = None
    reason: Text = ""


@dataclass(frozen=True, slots=True)
class _Answers:
    answers: tuple[Answer, ...]


class Writer:
    """Holds one warm sandbox, which starts with the first problem that the cache does not know."""

    def __init__(self, settings: Settings, sandbox: Sandbox, limits: Limits = LIMITS) -> None:
        self._cache = settings.cache / "inductor"
        self._warm = sandbox.warm(
            WarmJob(
                python=interpreter(),
                preload=_TASK,
                mounts=python_mounts((_OWN,), ("torch", "triton")),
                env={
                    "PYTHONPATH": import_path(),
                    "PYTHONHASHSEED": "0",
                    "OMP_NUM_THREADS": "1",
                    "HOME": "/tmp",
                    "TRITON_HOME": "/tmp",
                    "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",
                    "TORCHINDUCTOR_COMPILE_THREADS": "1",
                },
                limits=limits,
            )
        )

    def answers(self, problem: ProblemView) -> tuple[Answer, ...]:
        """One answer for each of `VARIANTS`; raises InfrastructureError when torch or Triton is
        missing or the writer dies of something other than the graph, SandboxFault when the
        sandbox does."""
        task = _task(problem)
        key = content_id("inductor", [task, writer_digest()])
        place = self._cache / f"{key}.json"
        known = _read(place)
        if known is None:
            inputs = {"task.json": json.dumps(task).encode()}
            known = _answers(self._warm.run(Task(f"{_TASK}:run", ("{in}", "{out}"), inputs)))
            _write(place, known)
        return known

    def close(self) -> None:
        """End the warm sandbox."""
        self._warm.close()


@cache
def writer_digest() -> str:
    """What an answer depends on besides the task: this package, torch, Triton and Python."""
    files = sorted(_OWN.rglob("*.py"))
    code = {str(path.relative_to(_OWN)): sha256_bytes(path.read_bytes()) for path in files}
    try:
        versions = [importlib.metadata.version(name) for name in ("torch", "triton")]
    except importlib.metadata.PackageNotFoundError as error:
        step = "pip install torch triton into this environment"
        raise InfrastructureError(f"{error.name} is not installed", step) from error
    return content_id("inductor-writer", [code, versions, list(sys.version_info[:3])])


def _task(problem: ProblemView) -> dict[str, Any]:
    known = problem.problem
    title = re.sub(r"[^\w (),.+-]", " ", f"{known.name} ({known.family}).")
    return {
        "title": title,
        "inputs": list(tensor_names([spec.name for spec in known.signature.inputs])),
        "domain": {s.symbol: [s.minimum, s.maximum] for s in known.domain.symbols},
        "graph": plain(problem.graph),
        "variants": [variant.as_json() for variant in VARIANTS],
    }


def _read(place: Path) -> tuple[Answer, ...] | None:
    try:
        return read_answers(place.read_bytes())
    except (OSError, Malformed):
        return None  # not there, or damaged: it is made again


def read_answers(data: bytes) -> tuple[Answer, ...]:
    """One answer for each of `VARIANTS`; raises Malformed.

    The graph comes from a problem file, and so does what Inductor was led to write.
    """
    found = record(_Answers, {"answers": loads(data)}).answers
    if len(found) != len(VARIANTS):
        raise Malformed(f"there are {len(found)} answers, not {len(VARIANTS)}")
    return found


def _write(place: Path, found: tuple[Answer, ...]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_suffix(f".{os.getpid()}")
    temporary.write_bytes(canonical_json([plain(answer) for answer in found]))
    temporary.replace(place)


def _answers(result: SandboxResult) -> tuple[Answer, ...]:
    log = printable(result.log.decode(errors="replace").strip())
    last = log.splitlines()[-1][:300] if log else "no message"
    if result.ok and "answers.json" in result.files:
        try:
            return read_answers(result.files["answers.json"])
        except Malformed as error:
            reason = f"unsupported: the run left a malformed report: {error}"
            return tuple(Answer(None, reason) for _ in VARIANTS)
    if result.ended in _TOO_MUCH:
        reason = f"unsupported: Inductor takes too much ({result.ended})"
    elif "Traceback" in log and "ModuleNotFoundError" not in last:
        reason = f"unsupported: Inductor stopped: {last}"
    else:
        step = "run `kernelvault doctor`"
        raise InfrastructureError(f"the Inductor writer died ({result.ended}): {last}", step)
    return tuple(Answer(None, reason) for _ in VARIANTS)
