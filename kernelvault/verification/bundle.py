"""Failure bundles: all that is needed to see a failure again, in one folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kernelvault.errors import StoreFault
from kernelvault.spec.candidate import SUFFIXES, Candidate
from kernelvault.spec.verification import Verification
from kernelvault.verification.report import record
from kernelvault.verification.subject import Case

_RERUN = """#!/bin/sh
# Runs the same gates on the same two files again, in the sandbox. Exit code: 0 passed, 1 failed.
here=$(dirname "$0")
exec kernelvault verify "$here/problem.py" "$here/{candidate}" --preset {preset} \\
  --target {targets} "$@"
"""


def write_bundle(
    root: Path,
    problem_source: str,
    candidate: Candidate,
    verifications: Sequence[Verification],
    cases: Sequence[Case],
) -> Path:
    """Write `root/<first 16 of candidate_id>/` and return it; an existing bundle is replaced.

    Holds the problem, the candidate, `verdicts.json`, `rerun.sh` and, when a workload is to blame,
    its inputs as .npy (bfloat16 as uint16 bits). Raises StoreFault when it cannot be written.
    """
    folder = root / candidate.candidate_id[:16]
    name = f"candidate{SUFFIXES[candidate.language]}"
    verdicts = record(verifications)
    targets = ",".join(target["target"] for target in verdicts["targets"])
    script = _RERUN.format(candidate=name, preset=verdicts["preset"], targets=targets)
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "problem.py").write_text(problem_source)
        (folder / name).write_text(candidate.source)
        (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=1))
        (folder / "rerun.sh").write_text(script)
        (folder / "rerun.sh").chmod(0o755)
        if (case := _blamed(verifications, cases)) is not None:
            for index, tensor in enumerate(case.arguments.inputs):
                np.save(folder / f"input_{index}_{tensor.dtype}.npy", tensor.data)
    except OSError as error:
        raise StoreFault(
            f"the failure bundle {folder} cannot be written: {error}", "free or unlock the folder"
        ) from error
    return folder


def _blamed(verifications: Sequence[Verification], cases: Sequence[Case]) -> Case | None:
    for verification in verifications:
        for verdict in verification.verdicts:
            if verdict.gate == "correctness" and verdict.outcome == "failed":
                return _case_of(verdict.evidence, cases)
    return None


def _case_of(evidence: dict[str, object], cases: Sequence[Case]) -> Case | None:
    wanted: object = None
    fault = evidence.get("fault")
    if isinstance(fault, dict):
        wanted = fault["detail"].get("workload_id")
    else:
        workloads = evidence["workloads"]
        assert isinstance(workloads, list)
        wrong = [w for w in workloads if any(o["mismatches"] for o in w["outputs"])]
        wanted = wrong[0]["workload_id"] if wrong else None
    return next((case for case in cases if case.workload.workload_id == wanted), None)
