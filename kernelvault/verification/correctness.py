"""The correctness gate: arguments out, results in, and only this side compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kernelvault.execution.contract import RunReport
from kernelvault.spec.preset import Preset
from kernelvault.verification.compare import compare
from kernelvault.verification.subject import Case


def evidence(cases: Sequence[Case], report: RunReport, preset: Preset) -> dict[str, Any]:
    """The evidence of the correctness gate for a finished run.

    What the tier does not cover is no verdict on the candidate: `not_run`, with what was missing.
    """
    if report.fault is not None and report.fault.kind == "unsupported":
        return {"not_run": f"cannot be judged on this tier: {report.fault.message}"}
    by_id = {case.workload.workload_id: case for case in cases}
    workloads = []
    for result in report.results:
        case = by_id[result.workload_id]
        outputs = [
            compare(got, wide, native, preset.tolerance(native.dtype)).evidence(index)
            for index, (got, wide, native) in enumerate(
                zip(result.outputs, case.expected.wide, case.expected.native, strict=True)
            )
        ]
        workloads.append(
            {
                "workload_id": result.workload_id,
                "shapes": [list(shape) for shape in case.workload.shapes],
                "deterministic": result.deterministic,
                "launches": result.launches,
                "outputs": outputs,
            }
        )
    return {
        "fault": asdict(report.fault) if report.fault else None,
        "workloads": workloads,
        "noop_replay": asdict(report.noop_replay) if report.noop_replay else None,
        "facts": report.facts,
    }


def reason(evidence: dict[str, Any], preset: Preset) -> str:
    """One line that says why a run did not pass."""
    if fault := evidence["fault"]:
        return f"{fault['kind']}: {fault['message']}"
    for workload in evidence["workloads"]:
        for output in workload["outputs"]:
            if output["mismatches"]:
                return _mismatch(workload, output)
    replay = evidence["noop_replay"]
    if replay and replay["touched_elements"]:
        count = replay["touched_elements"]
        return f"not computed by a kernel: with launches disabled {count} output elements changed"
    if replay and not replay["launches"]:
        return "not computed by a kernel: nothing was launched"
    count = len(evidence["workloads"])
    return f"judged on {count} workloads, the preset needs {preset.min_workloads}"


def _mismatch(workload: dict[str, Any], output: dict[str, Any]) -> str:
    first = output["first"]
    shapes = ", ".join("x".join(map(str, shape)) or "scalar" for shape in workload["shapes"])
    allowed = f"{output['allowed_abs']:.3g}"
    if output["rtol"]:
        allowed += f" + {output['rtol']:.3g} relative"
    return (
        f"wrong result: output {output['index']} for inputs {shapes}: {output['mismatches']} of "
        f"{output['elements']} elements; first at {first['at']}: expected {first['expected']}, "
        f"got {first['actual']} (allowed error {allowed})"
    )
