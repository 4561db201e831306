"""`kernelvault doctor`: every part a run needs, whether it is there, and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path

import typer
from rich.text import Text

from kernelvault.cli import options
from kernelvault.cli.faults import reported
from kernelvault.cli.screen import outcome, screen, table
from kernelvault.errors import KernelVaultError
from kernelvault.settings import Settings

GiB = 1 << 30
NEEDED_DISK = 5 * GiB
NEEDED_MEMORY = 4 * GiB


@dataclass(frozen=True, slots=True)
class Part:
    """One finding; `install` is how to mend it. An optional part never fails the check."""

    name: str
    present: bool
    found: str
    install: str = ""
    optional: bool = False

    @property
    def state(self) -> str:
        if self.present:
            return "ok"
        return "absent" if self.optional else "missing"


def doctor(
    sandbox: options.Sandbox = None,
    corpus: options.Corpus = None,
    cache: options.Cache = None,
    config: options.Config = None,
) -> None:
    """Check this machine. Exit code: 0 everything needed is there, 3 something is missing."""
    with reported():
        chosen = options.settings(config, sandbox=sandbox, corpus=corpus, cache=cache)
        parts = inspect(chosen)
        rows = [(p.name, outcome(p.state), p.found, "" if p.present else p.install) for p in parts]
        console = screen()
        console.print(table(("part", "state", "found", "how to get it"), rows))
        gpu = next(part for part in parts if part.name == "AMD GPU")
        tiers = "emulated, hardware" if gpu.present else "emulated (no latency without a GPU)"
        limits = _limits(chosen)
        if limits:
            console.print(table(("limit of the sandbox", "level", "how"), limits))
        console.print(f"tiers available here: {tiers}")
        if any(part.state == "missing" for part in parts):
            raise typer.Exit(KernelVaultError.exit_code)


def inspect(settings: Settings) -> tuple[Part, ...]:
    """Look at every part; nothing is built or changed."""
    return (
        Part("python", True, platform.python_version()),
        _package("torch", "pip install torch --index-url https://download.pytorch.org/whl/cpu"),
        _package("triton", "pip install 'triton>=3.6,<3.9'"),
        _package("prefect", "pip install kernelvault", optional=True),
        _package("ray", "pip install kernelvault", optional=True),
        _probe("HIP compiler", lambda: _compiler(settings)),
        Part("targets", True, ", ".join(settings.targets)),
        _probe(f"sandbox {settings.sandbox}", lambda: _sandbox(settings)),
        _disk(settings),
        _memory(),
        Part("cores", True, f"{len(os.sched_getaffinity(0))}, {settings.workers} units at a time"),
        _gpu(),
    )


def _package(name: str, install: str, optional: bool = False) -> Part:
    try:
        return Part(name, True, installed(name), optional=optional)
    except PackageNotFoundError:
        return Part(name, False, "", install, optional)


def _probe(name: str, look: Callable[[], str]) -> Part:
    try:
        return Part(name, True, look())
    except KernelVaultError as error:
        return Part(name, False, error.cause, error.next_step)


def _compiler(settings: Settings) -> str:
    from kernelvault.toolchains.hip.discovery import find_tools, triton_backend

    tools = find_tools(settings.rocm_path)
    headers = f"ROCm {tools.rocm}" if tools.rocm else f"of triton {triton_backend()[1]}"
    return f"{tools.clang}: {tools.version}; headers {headers}"


def _sandbox(settings: Settings) -> str:
    from kernelvault.sandbox import UNISOLATED, open_sandbox

    name = open_sandbox(settings.sandbox).name
    return f"{name}: no isolation, preview releases only" if name in UNISOLATED else name


def _limits(settings: Settings) -> list[tuple[str, Text, str]]:
    """How well each limit holds here: enforced, soft or absent. None where no sandbox starts."""
    from kernelvault.sandbox import open_sandbox

    try:
        able = open_sandbox(settings.sandbox).capabilities()
    except KernelVaultError:
        return []  # the table of parts says why
    return [(g.limit, outcome(g.level), g.how) for g in able.guarantees]


def _disk(settings: Settings) -> Part:
    folder = next(p for p in (settings.corpus, *settings.corpus.parents) if p.exists())
    free = shutil.disk_usage(folder).free
    text = f"{free / GiB:.1f} GiB free for {settings.corpus}"
    return Part("disk", free >= NEEDED_DISK, text, f"free {NEEDED_DISK // GiB} GiB or set --corpus")


def _memory() -> Part:
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    enough = free >= NEEDED_MEMORY
    text = f"{free / GiB:.1f} GiB available"
    return Part("memory", enough, text, f"have {NEEDED_MEMORY // GiB} GiB or use fewer --jobs")


def _gpu() -> Part:
    nodes = Path("/sys/class/kfd/kfd/topology/nodes")
    gpus = 0
    if nodes.is_dir():
        for node in nodes.iterdir():
            text = (node / "properties").read_text()
            gpus += any(
                line.split()[0] == "simd_count" and int(line.split()[1]) > 0
                for line in text.splitlines()
            )
    found = f"{gpus} by /sys/class/kfd" if gpus else "none"
    return Part("AMD GPU", gpus > 0, found, "only for latencies and `amd` releases", optional=True)
