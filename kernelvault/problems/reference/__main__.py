"""`python -m kernelvault.problems.reference IN OUT`: describe IN/problem.py into OUT."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from kernelvault.problems.reference.describe import manifest
from kernelvault.problems.reference.emit import Writer
from kernelvault.problems.reference.reject import PROBLEM_FILE, Rejected


def main(given: Path, out: Path) -> None:
    """Write OUT/manifest.json, or OUT/rejected.json when the file cannot serve."""
    torch.set_num_threads(1)
    source = (given / PROBLEM_FILE).read_text(encoding="utf-8")
    try:
        known = manifest(source, Writer(out))
    except Rejected as rejected:
        told = {
            "reason": rejected.reason,
            "cause": rejected.cause,
            "next_step": rejected.next_step,
        }
        (out / "rejected.json").write_text(json.dumps(told))
        return
    (out / "manifest.json").write_text(json.dumps(known, allow_nan=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
