"""CPU seconds to compile a HIP kernel for gfx942 and gfx950, with evidence, against plain clang.

    python benchmarks/compile_gate.py [--repeats N] [FILE.hip ...]

Ours: one `compile` call for both targets, sandbox, code object, notes and disassembly included.
Plain: `clang -x hip --offload-arch=T --cuda-device-only` once a target, no sandbox, no evidence.
The two alternate, so that both see the same machine. Building the precompiled headers is apart:
it happens once a machine.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings
from kernelvault.toolchains.hip import HipToolchain, discover

ROOT = Path(__file__).parents[1]
TARGETS = ("gfx942", "gfx950")
DEFAULT = (ROOT / "kernelvault/agents/replay/recorded", ROOT / "tests/toolchains/data")


def cpu_seconds(action: Callable[[], object]) -> float:
    """CPU seconds of this process and its finished children during `action`."""

    def now() -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(item.ru_utime + item.ru_stime for item in used)

    start = now()
    action()
    return now() - start


def gate(toolchain: HipToolchain, source: str) -> float:
    """CPU seconds of one compile for both targets.

    bwrap does not wait for its payload in the way that passes its CPU time on to us; the sandbox
    measures that inside, and we add our own share.
    """
    inside: list[float] = []

    def action() -> None:
        inside.extend(result.cpu_s for result in toolchain.compile(source, TARGETS))

    around = cpu_seconds(action)
    return around + sum(inside)


def plain(toolchain: HipToolchain, source: Path, out: Path) -> None:
    """Compile without a precompiled header, as a user would."""
    for target in TARGETS:
        command = [
            *(str(toolchain.clang), "-x", "hip", f"--offload-arch={target}"),
            *("--cuda-device-only", "--no-gpu-bundle-output", "-O3", "-std=c++17"),
            *toolchain.driver_flags,
            *("-c", str(source), "-o", str(out / f"{target}.hsaco")),
        ]
        subprocess.run(command, check=True, capture_output=True)


def main() -> int:
    """Print the table; exit 1 when the limits are not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    files = options.files or sorted(f for folder in DEFAULT for f in folder.glob("*.hip"))
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        settings = Settings(cache=scratch / "cache")
        toolchain = discover(settings, open_sandbox("bubblewrap"))
        setup = cpu_seconds(lambda: toolchain.prepare(TARGETS))
        rows = []
        for file in files:
            source = file.read_text()
            if any(result.exit_code for result in toolchain.compile(source, TARGETS)):
                print(f"skipped, does not compile: {file.name}", file=sys.stderr)
                continue
            ours, theirs = [], []
            for _ in range(options.repeats):
                ours.append(gate(toolchain, source))
                theirs.append(cpu_seconds(lambda f=file: plain(toolchain, f, scratch)))
            rows.append((file.name, statistics.median(ours), statistics.median(theirs)))
    return report(rows, setup)


def report(rows: list[tuple[str, float, float]], setup: float) -> int:
    """The Markdown table of (file, ours, plain) rows, and the verdict."""
    print("| kernel | compile gate, CPU s | plain clang, CPU s | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for file, ours, theirs in rows:
        print(f"| {file} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.1f} |")
    ours = statistics.median(row[1] for row in rows)
    theirs = statistics.median(row[2] for row in rows)
    print(f"| **median of {len(rows)}** | {ours:.2f} | {theirs:.2f} | {theirs / ours:.1f} |")
    print(f"\nPrecompiled headers (host and {len(TARGETS)} targets), once: {setup:.1f} CPU s")
    return 0 if ours <= 0.5 and theirs / ours >= 2.5 else 1


if __name__ == "__main__":
    sys.exit(main())
