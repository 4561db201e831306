"""The one rule that turns evidence into an outcome, used when a verdict is made and when it is
checked again: in the corpus, in a release, on a stranger's machine.

`Evidence` keys per gate (all JSON):

static        findings: [{rule, severity, line, message}]; undefined_symbols: [name] | null;
              forbidden_symbols: [name]
compile       target, exit_code, host_exit_code, code_object_sha256, kernels: [name],
              diagnostics: [{severity, line, column, message}]
correctness   fault: null | {kind, message}; workloads: [{workload_id, deterministic,
              outputs: [{index, elements, mismatches, ...}]}]; noop_replay: {launches,
              touched_elements}
any           not_run: reason  (and nothing else decides)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kernelvault.spec.preset import Preset

PASSED, FAILED, NOT_RUN = "passed", "failed", "not_run"
OUTCOMES = (PASSED, FAILED, NOT_RUN)

Evidence = Mapping[str, Any]


def judge(gate: str, evidence: Evidence, preset: Preset) -> str:
    """`passed`, `failed` or `not_run` for a gate's evidence; unreadable evidence never passes."""
    if not isinstance(evidence, Mapping):
        return FAILED
    if "not_run" in evidence:
        return NOT_RUN
    rule = _RULES.get(gate)
    try:
        return PASSED if rule is not None and rule(evidence, preset) else FAILED
    except (KeyError, TypeError, AttributeError):
        return FAILED


def _static(evidence: Evidence, preset: Preset) -> bool:
    findings = evidence["findings"]
    rejects = [f for f in findings if f["severity"] == "reject"]
    return isinstance(findings, list) and not rejects and evidence["forbidden_symbols"] == []


def _compile(evidence: Evidence, preset: Preset) -> bool:
    digest = evidence["code_object_sha256"]
    built = evidence["exit_code"] == 0 and evidence["host_exit_code"] == 0
    kernels = evidence["kernels"]
    named = isinstance(kernels, list) and len(kernels) > 0
    return built and named and re.fullmatch(r"[0-9a-f]{64}", digest) is not None


def _correctness(evidence: Evidence, preset: Preset) -> bool:
    workloads = evidence["workloads"]
    replay = evidence["noop_replay"]
    return (
        evidence["fault"] is None
        and len({w["workload_id"] for w in workloads}) >= preset.min_workloads
        and all(_outputs_right(w["outputs"]) for w in workloads)
        and replay["launches"] > 0
        and replay["touched_elements"] == 0
    )


def _outputs_right(outputs: list[Mapping[str, Any]]) -> bool:
    return len(outputs) > 0 and all(o["elements"] > 0 and o["mismatches"] == 0 for o in outputs)


_RULES: dict[str, Callable[[Evidence, Preset], bool]] = {
    "static": _static,
    "compile": _compile,
    "correctness": _correctness,
}
