"""The command line as its users meet it: output, exit codes, errors with a next step."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from kernelvault.settings import Settings, resolve

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cli(tmp_path: Path):
    def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kernelvault.cli", *words],
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=120,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        )

    return call


def _python(script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)


def test_help_is_instant_and_names_every_command(cli) -> None:
    started = time.monotonic()
    shown = cli("--help")
    assert time.monotonic() - started < 5, "heavy imports must wait until a command runs"
    assert shown.returncode == 0
    for command in ("doctor", "run", "verify", "why", "query", "cache", "release", "ui"):
        assert command in shown.stdout
    heavy = "{'torch', 'ray', 'prefect', 'duckdb', 'pyarrow'}"
    probe = _python(f"import sys, kernelvault.cli.main; print({heavy} & set(sys.modules))")
    assert probe.stdout.strip() == "set()"


def test_dry_run_shows_the_plan_and_touches_nothing(cli, tmp_path: Path) -> None:
    shown = cli("run", "--dry-run", "--limit", "3", "--jobs", "1", "--target", "gfx942")
    assert shown.returncode == 0, shown.stderr
    assert "gfx942" in shown.stdout and "gfx950" not in shown.stdout
    assert "nothing was touched" in shown.stdout
    assert "\x1b[" not in shown.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "--problems", "no_such", "--dry-run"), 2, "problems list"),
        (("run", "--sandbox", "chroot", "--dry-run"), 2, "choose from auto, bubblewrap"),
        (("run", "--limit", "0"), 2, "--limit"),
        (("run", "--config", "absent.toml"), 2, "check --config"),
        (("problems", "show", "no_such"), 2, "problems list"),
        (("verify", "no_such.py", "absent.hip"), 2, "check the path"),
        (("verify", "relu_2d", "kernel.txt"), 2, ""),
        (("run", "--corpus", "/dev/null", "--dry-run"), 2, "is not a folder"),
        (("query", "SELECT 1"), 2, "there is no corpus"),
        (("why", "abcdef"), 2, "there is no corpus"),
        (("release", "verify", "absent"), 2, "there is no release"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_bad_usage_exits_2_without_a_traceback(cli, words, code, said) -> None:
    shown = cli(*words)
    assert shown.returncode == code, shown.stderr
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr


def test_json_errors_are_one_record_on_stdout(cli) -> None:
    shown = cli("verify", "no_such", "kernel.hip", "--json")
    record = json.loads(shown.stdout)
    assert shown.returncode == 2
    assert set(record) == {"error", "cause", "next_step"}
    assert record["error"] == "UsageError"


def test_doctor_names_what_is_missing_and_how_to_get_it(cli, tmp_path: Path) -> None:
    shown = cli("doctor")
    assert "tiers available here: emulated" in shown.stdout
    limits = {line.split("  ")[0]: line for line in shown.stdout.splitlines() if "enforced" in line}
    assert {"network", "wall time", "memory"} <= set(limits)
    plain = cli("doctor", "--sandbox", "subprocess").stdout
    assert "no isolation, preview releases only" in plain
    assert re.search(r"network +absent", plain)
    broken = cli("doctor", ROCM_PATH=str(tmp_path))
    assert broken.returncode == 3
    assert "missing" in broken.stdout and "ROCM_PATH" in broken.stdout


def test_cache_is_measured_and_cleared(cli, tmp_path: Path) -> None:
    (tmp_path / "cache" / "part").mkdir(parents=True)
    (tmp_path / "cache" / "part" / "file").write_bytes(bytes(3 << 20))
    assert "3.0 MiB" in cli("cache", "size", "--cache", "cache").stdout
    assert "freed 3.0 MiB" in cli("cache", "clear", "--cache", "cache").stdout
    assert list((tmp_path / "cache").iterdir()) == []


def test_without_an_orchestrator_run_says_what_to_install() -> None:
    shown = _python("from kernelvault.cli.run import _entry_point; _entry_point('no_such')")
    assert "no orchestrator is installed" in shown.stderr
    assert "pip install kernelvault" in shown.stderr


def test_settings_precedence(tmp_path: Path) -> None:
    file = tmp_path / "kernelvault.toml"
    file.write_text('seed = 1\njobs = 1\npreset = "basic"\n')
    environment = {"KERNELVAULT_CONFIG": str(file), "KERNELVAULT_SEED": "2"}
    assert resolve(environ=environment) == Settings(seed=2, jobs=1)
    assert resolve({"seed": 3, "jobs": None}, environ=environment) == Settings(seed=3, jobs=1)


def test_the_example_configuration_holds_every_default() -> None:
    example = tomllib.loads((ROOT / "kernelvault.toml.example").read_text())
    assert set(example) == {field.name for field in fields(Settings)}
    assert resolve(config=ROOT / "kernelvault.toml.example", environ={}) == Settings()
