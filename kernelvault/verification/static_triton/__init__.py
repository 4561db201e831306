"""The static gate for Triton: the source is parsed, never imported or run.

A candidate's Python runs beside the harness that records its launches, so this is an allow list:
host code may allocate, take views, do shape arithmetic and launch; kernels may use Triton's device
language. What the list lets through is still watched at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kernelvault.verification.static_hip import Finding
from kernelvault.verification.static_triton import model, reach, source, toplevel

MAX_FINDINGS = 200


def parse_findings(source: str, inputs: int, scalars: int) -> tuple[Finding, ...]:
    """Findings of a candidate for a problem with that many tensors and scalars, by line.

    Never raises on any text; a source that cannot be analysed is a finding.
    """
    try:
        found = _findings(source, inputs, scalars)
    except RecursionError:
        found = [Finding("too_deep", "reject", 0, "code is nested too deeply; split it up")]
    rejects = [f for f in found if f.severity == "reject"]
    others = [f for f in found if f.severity != "reject"]
    kept = [*rejects, *others][:MAX_FINDINGS]
    return tuple(sorted(dict.fromkeys(kept), key=lambda f: (f.line, f.rule, f.message)))


def _findings(text: str, inputs: int, scalars: int) -> list[Finding]:
    tree = source.parse(text)
    if isinstance(tree, Finding):
        return [tree]
    module, found = model.build(tree)
    reached = reach.reachable(tree, module)
    return [
        *found,
        *toplevel.findings(tree, module, text, reached),
        *reach.entry_findings(module, reached, inputs, scalars),
    ]


def evidence(findings: Sequence[Finding]) -> dict[str, Any]:
    """The evidence of the static gate; a Python source has no symbols to link."""
    return {
        "findings": [asdict(finding) for finding in findings],
        "undefined_symbols": None,
        "forbidden_symbols": [],
    }
