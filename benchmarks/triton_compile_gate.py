"""CPU and wall seconds to compile Triton candidates for two targets, against `triton.compile`.

    python benchmarks/triton_compile_gate.py [--repeats N] [NAME ...]

Ours: one `compile` call for both targets, in a warm sandbox: a fork a target, the candidate's host
code on every workload, compilation, code objects and assembly brought out. Reading the evidence out
of them happens in the caller and is reported apart. Bare: see `bare_triton.py`. Caches are empty on
both sides, the order alternates, both processes are warm. NAME is one of `tests/triton_examples`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernelvault.problems import catalog
from kernelvault.problems.prepare import prepare
from kernelvault.sandbox import Sandbox, open_sandbox
from kernelvault.settings import Settings
from kernelvault.toolchains.triton.toolchain import TritonToolchain, task_inputs
from kernelvault.verification.subject import Subject, subject_of
from kernelvault.verification.triton import shapes

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "tests" / "triton_examples"
TARGETS = ("gfx942", "gfx950")


class Bare:
    """The warm peer process."""

    def __init__(self) -> None:
        env = {**os.environ, "TRITON_DISABLE_LINE_INFO": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "bare_triton.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def compile(self, folder: Path) -> tuple[float, float, int]:
        """(CPU seconds, wall seconds, compilations) for both targets."""
        assert self._process.stdin is not None
        cpu = wall = 0.0
        calls = 0
        for target in TARGETS:
            self._process.stdin.write(f"{target} {folder}\n")
            self._process.stdin.flush()
            answer = self._line().split()
            cpu, wall, calls = (
                cpu + float(answer[0]),
                wall + float(answer[1]),
                calls + int(answer[2]),
            )
        return cpu, wall, calls


def measure(
    toolchain: TritonToolchain, bare: Bare, source: str, subject: Subject, repeats: int
) -> dict[str, float]:
    """Medians over `repeats` alternating runs; the ratios are medians of paired ratios."""
    workloads = shapes(subject)
    rows: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        for key, data in task_inputs(source, subject.signature, workloads).items():
            Path(name, key).write_bytes(data)
        for turn in range(repeats):
            found: dict[str, float] = {}
            for ours in (turn % 2 == 0, turn % 2 == 1):
                if ours:
                    own, wall = time.process_time(), time.perf_counter()
                    made = toolchain.compile(source, subject.signature, workloads, TARGETS)
                    evidence = sum(result.evidence_s for result in made)
                    own = time.process_time() - own - evidence
                    found["gate_cpu"] = own + sum(result.cpu_s for result in made)
                    found["gate_wall"] = time.perf_counter() - wall - evidence
                    found["evidence"] = evidence
                else:
                    found["bare_cpu"], found["bare_wall"], found["calls"] = bare.compile(Path(name))
            found["ratio_cpu"] = found["gate_cpu"] / found["bare_cpu"]
            found["ratio_wall"] = found["gate_wall"] / found["bare_wall"]
            for key, value in found.items():
                rows.setdefault(key, []).append(value)
    return {key: statistics.median(values) for key, values in rows.items()}


def subject(name: str, settings: Settings, sandbox: Sandbox) -> Subject:
    """The problem of an example."""
    return subject_of(
        prepare(catalog.from_file(EXAMPLES / f"{name}_problem.py"), settings, sandbox)
    )


def main() -> int:
    """Print the table; exit 1 when the median ratio of wall times is over 1.25."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    known = [entry["name"] for entry in json.loads((EXAMPLES / "index.json").read_text())]
    sandbox, settings = open_sandbox("bubblewrap"), Settings()
    toolchain, bare = TritonToolchain(sandbox), Bare()
    load = os.getloadavg()[0]
    columns = (
        "gate_cpu",
        "bare_cpu",
        "ratio_cpu",
        "gate_wall",
        "bare_wall",
        "ratio_wall",
        "evidence",
    )
    print("| candidate | compilations | " + " | ".join(columns) + " |")
    print("|---|---:|" + "---:|" * len(columns))
    table = []
    for name in options.names or known:
        source = (EXAMPLES / f"{name}.py").read_text()
        found = measure(toolchain, bare, source, subject(name, settings, sandbox), options.repeats)
        table.append(found)
        cells = " | ".join(f"{found[column]:.3f}" for column in columns)
        print(f"| {name} | {found['calls']:.0f} | {cells} |", flush=True)
    medians = {column: statistics.median(row[column] for row in table) for column in columns}
    print("| **median** | | " + " | ".join(f"{medians[column]:.3f}" for column in columns) + " |")
    print(f"load average: {load:.1f} before, {os.getloadavg()[0]:.1f} after")
    toolchain.close()
    return int(medians["ratio_wall"] > 1.25)


if __name__ == "__main__":
    sys.exit(main())
