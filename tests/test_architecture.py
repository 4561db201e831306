"""Contracts on the shape of the code, beside those of import-linter."""

import ast
import re
import statistics
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("kernelvault", "flows", "tasks", "schemas", "expectations")
BUILTIN = ROOT / "kernelvault" / "problems" / "builtin"
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_import_contracts_hold() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_modules_are_small() -> None:
    lines = {name(p): len(p.read_text().splitlines()) for p in MODULES if BUILTIN not in p.parents}
    assert {n: count for n, count in lines.items() if count > 350} == {}
    assert statistics.median(lines.values()) <= 120


def test_functions_are_small() -> None:
    long = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                if size > 70:
                    long[f"{name(path)}:{node.name}"] = size
    assert long == {}


def test_only_the_command_line_prints_and_nothing_is_a_grab_bag() -> None:
    printing = []
    for path in MODULES:
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        if any(isinstance(c.func, ast.Name) and c.func.id == "print" for c in calls):
            printing.append(name(path))
    assert [p for p in printing if not p.startswith("kernelvault/cli/")] == []
    assert [name(p) for p in MODULES if p.name in ("utils.py", "helpers.py", "common.py")] == []


def test_the_library_reads_its_environment_in_one_place() -> None:
    """`tasks` and `flows` start servers and clusters, whose settings are environment variables."""
    reading = [
        name(path)
        for path in MODULES
        if path.is_relative_to(ROOT / "kernelvault")
        and not path.is_relative_to(ROOT / "kernelvault" / "cli")
        and re.search(r"os\.(environ|getenv)", path.read_text())
    ]
    assert reading == ["kernelvault/settings.py"]


@pytest.mark.parametrize(
    "resource",
    [
        "kernelvault/abi.h",
        "kernelvault/execution/cpu/include/hip/hip_runtime.h",
        "kernelvault/execution/cpu/native/runner.cpp",
        "kernelvault/toolchains/hip/headers/hip/hip_fp16.h",
        "kernelvault/store/sql/samples.sql",
        "kernelvault/agents/replay/recorded/index.json",
        "kernelvault/problems/builtin/gelu_exact.py",
        "expectations/channels/preview.toml",
    ],
)
def test_package_data_is_found(resource: str) -> None:
    package, _, rest = resource.partition("/")
    assert (files(package) / rest).is_file()


def test_the_core_needs_no_lake_no_orchestrator() -> None:
    """Verifying a file works where only the core, torch and triton are installed."""
    code = (
        "import sys\n"
        "import kernelvault.verification.files\n"
        "heavy = {'ray', 'prefect', 'duckdb', 'deltalake', 'great_expectations', 'torch'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
