"""Evidence of verdicts in words: what was wrong, where, and in which lines of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Evidence = Mapping[str, Any]
MAX_ITEMS = 8


def details(gate: str, evidence: Evidence) -> Iterator[str]:
    """Readable lines about what a gate found; none for evidence that holds nothing to show."""
    if gate == "static":
        for finding in evidence.get("findings", [])[:MAX_ITEMS]:
            yield f"line {finding['line']}: {finding['rule']}: {finding['message']}"
    elif gate == "compile":
        for found in evidence.get("diagnostics", [])[:MAX_ITEMS]:
            where = f"line {found['line']}:{found['column']}: " if found["line"] else ""
            yield f"{where}{found['severity']}: {found['message']}"
    elif gate == "correctness":
        yield from _correctness(evidence)


def _correctness(evidence: Evidence) -> Iterator[str]:
    fault = evidence.get("fault")
    if fault:
        yield f"{fault['kind']}: {fault['message']}"
    for workload in evidence.get("workloads", []):
        for output in workload["outputs"]:
            if not output["mismatches"]:
                continue
            shapes = ", ".join("x".join(map(str, shape)) for shape in workload.get("shapes", []))
            yield (
                f"workload {workload['workload_id'][:12]} (inputs {shapes}), output "
                f"{output['index']}: {output['mismatches']} of {output['elements']} elements wrong"
            )
            for label in ("first", "worst"):
                if found := output.get(label):
                    yield (
                        f"  {label} wrong at {found['at']}: "
                        f"expected {found['expected']}, got {found['actual']}"
                    )


def blamed_lines(gate: str, evidence: Evidence) -> dict[int, str]:
    """Source lines a gate pointed at, with what it said of them."""
    entries: list[Mapping[str, Any]] = []
    if gate == "static":
        entries = evidence.get("findings", [])
    elif gate == "compile":
        entries = evidence.get("diagnostics", [])
    elif gate == "correctness" and (fault := evidence.get("fault")):
        entries = [{"line": fault["detail"].get("line", 0), "message": fault["message"]}]
    return {
        e["line"]: str(e["message"]) for e in entries if isinstance(e["line"], int) and e["line"]
    }
