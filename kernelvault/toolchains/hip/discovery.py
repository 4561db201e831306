"""Finds a HIP compiler: a ROCm installation's own clang, else LLVM 22 on PATH."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kernelvault.errors import ToolchainMissing

LLVM = 22
_INSTALL = (
    f"apt-get install --no-install-recommends clang-{LLVM} lld-{LLVM} llvm-{LLVM} "
    "(from Debian or apt.llvm.org), or install ROCm and set ROCM_PATH"
)


@dataclass(frozen=True, slots=True)
class Tools:
    """Absolute paths of one compiler's programs.

    rocm: the installation they belong to; builtins: archives with the functions that compiled host
    code may call behind the scenes, such as 16-bit float conversion.
    """

    clang: Path
    lld: Path
    readelf: Path
    objdump: Path
    rocm: Path | None
    builtins: tuple[Path, ...]
    version: str


def find_tools(rocm_path: str) -> Tools:
    """The first usable compiler: `rocm_path`, /opt/rocm, LLVM on PATH.

    Raises ToolchainMissing, naming what to install, when a given `rocm_path` or all of them fail.
    """
    for folder in filter(None, (rocm_path, "/opt/rocm")):
        root = Path(folder).resolve()
        tools = _rocm_tools(root)
        if tools is not None:
            return tools
        if rocm_path:
            raise ToolchainMissing(
                f"{root} holds no HIP compiler (lib/llvm/bin/clang, ld.lld, llvm-readelf, "
                "llvm-objdump)",
                f"mend ROCM_PATH, or unset it to use LLVM on PATH: {_INSTALL}",
            )
    names = (f"clang-{LLVM}", f"ld.lld-{LLVM}", f"llvm-readelf-{LLVM}", f"llvm-objdump-{LLVM}")
    found = {name: shutil.which(name) for name in names}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise ToolchainMissing(
            f"no HIP compiler: there is no ROCm in /opt/rocm and {', '.join(missing)} "
            "is not on PATH",
            _INSTALL,
        )
    return _tools([Path(path) for path in found.values() if path is not None], None)


def triton_backend() -> tuple[Path, str]:
    """(folder with HIP's headers and device bitcode, triton's version); triton is not imported.

    Raises ToolchainMissing when the triton wheel lacks them.
    """
    spec = find_spec("triton")
    if spec is not None and spec.submodule_search_locations:
        root = Path(next(iter(spec.submodule_search_locations)))
        folder = root / "backends" / "amd"
        if (folder / "lib" / "ocml.bc").is_file() and (folder / "include" / "hip").is_dir():
            info = sorted(root.parent.glob("triton-*.dist-info"))
            name = info[0].name if info else "triton-unknown"
            return folder, name.removeprefix("triton-").removesuffix(".dist-info")
    raise ToolchainMissing(
        "HIP's headers and device libraries were not found: the triton wheel that carries them is "
        "missing",
        "pip install 'triton>=3.6,<3.9', or install ROCm and set ROCM_PATH",
    )


def _rocm_tools(root: Path) -> Tools | None:
    for folder in (root / "lib" / "llvm" / "bin", root / "llvm" / "bin"):
        names = ("clang", "ld.lld", "llvm-readelf", "llvm-objdump")
        paths = [folder / name for name in names]
        if all(path.is_file() for path in paths):
            return _tools(paths, root)
    return None


def _tools(paths: list[Path], rocm: Path | None) -> Tools:
    clang, lld, readelf, objdump = paths
    return Tools(clang, lld, readelf, objdump, rocm, _builtins(clang), _version(clang))


def _builtins(clang: Path) -> tuple[Path, ...]:
    names = (
        Path(_ask(clang, f"--rtlib={library}", "--print-libgcc-file-name").strip())
        for library in ("compiler-rt", "libgcc")
    )
    return tuple(name for name in names if name.is_file())


def _version(clang: Path) -> str:
    return _ask(clang, "--version").splitlines()[0].strip()


def _ask(clang: Path, *question: str) -> str:
    try:
        return subprocess.run(
            [clang, *question], capture_output=True, text=True, check=True, timeout=60
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainMissing(f"{clang} does not run: {error}", _INSTALL) from error
