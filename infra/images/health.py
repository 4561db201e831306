"""Proves that an image can do its job: `python3 health.py IMAGE`. Exit code: 0 it can, 1 not.

Docker runs it as the image's HEALTHCHECK and keeps what it writes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

KERNEL = "__attribute__((amdgpu_kernel)) void nothing(void) {}\n"
TARGETS = ("gfx942", "gfx950")


def compiles() -> str:
    """The HIP compiler is found, and makes code objects for every target."""
    from kernelvault.toolchains.hip.discovery import find_tools, triton_backend

    tools = find_tools("")
    if tools.rocm is None:
        triton_backend()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.c")
        source.write_text(KERNEL)
        for target in TARGETS:
            line = [str(tools.clang), "--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib"]
            line += ["-c", str(source), "-o", str(Path(folder, target))]
            subprocess.run(line, check=True, timeout=60, capture_output=True)
    return tools.version


def computes() -> str:
    """PyTorch imports and computes; Triton is beside it."""
    torch = import_module("torch")
    if int(torch.arange(10).sum()) != 45:
        raise RuntimeError("PyTorch adds wrongly")
    return f"torch {torch.__version__}, triton {import_module('triton').__version__}"


def has_rocm() -> str:
    """This PyTorch is one for ROCm; where a GPU was passed in, it computes there."""
    torch = import_module("torch")
    if torch.version.hip is None:
        raise RuntimeError(f"torch {torch.__version__} was not built for ROCm")
    if not Path("/dev/kfd").exists():
        return f"HIP {torch.version.hip}, no GPU was passed in"
    if int(torch.arange(10, device="cuda").sum()) != 45:
        raise RuntimeError("the GPU adds wrongly")
    return f"HIP {torch.version.hip} on {torch.cuda.get_device_name(0)}"


def orchestrates() -> str:
    """Prefect and Ray import, and the main job is found through its entry point."""
    from importlib.metadata import entry_points

    names = {entry.name for entry in entry_points(group="kernelvault.flows")}
    if "main_job" not in names:
        raise RuntimeError("the entry point main_job of kernelvault.flows is missing")
    versions = [f"{name} {import_module(name).__version__}" for name in ("prefect", "ray")]
    return ", ".join(versions)


def isolates() -> str:
    """bubblewrap is there. Whether it may make namespaces is up to how the container is run."""
    line = ["bwrap", "--version"]
    answer = subprocess.run(line, check=True, timeout=60, capture_output=True, text=True)
    return answer.stdout.strip()


CHECKS: dict[str, tuple[Callable[[], str], ...]] = {
    "verify-cpu": (compiles, computes),
    "verify-rocm": (compiles, computes, has_rocm),
    "worker": (orchestrates, isolates, compiles),
}


def main(argv: list[str] | None = None) -> int:
    """Run the image's checks; the first that fails is told."""
    words = sys.argv[1:] if argv is None else argv
    if len(words) != 1 or words[0] not in CHECKS:
        sys.stderr.write(f"health: name one image of {', '.join(CHECKS)}\n")
        return 2
    for check in CHECKS[words[0]]:
        try:
            sys.stdout.write(f"{check.__name__}: {check()}\n")
        except Exception as error:  # noqa: BLE001 - whatever it is, the image is not healthy
            sys.stdout.write(f"{check.__name__}: FAILED, {error}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
