"""Where no sandbox works: an exit code, a cause and a next step, and never less isolation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from backends import docker_daemon

from kernelvault.errors import SandboxUnavailable
from kernelvault.sandbox import open_sandbox

ROOT = Path(__file__).parents[2]
BROKEN = 3
Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def bare_address() -> Iterator[str]:
    """A docker daemon of our own that has no image."""
    with docker_daemon() as address:
        yield address


@pytest.fixture
def nothing(tmp_path: Path) -> dict[str, str]:
    """An environment without bubblewrap and without a daemon, but with compilers."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("clang-22", "ld.lld-22", "llvm-readelf-22", "llvm-objdump-22"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    return {"PATH": str(tools), "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}


@pytest.fixture
def cli(tmp_path: Path) -> Call:
    def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "work").mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, "-m", "kernelvault.cli", *words],
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path / "work",
            timeout=120,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "250", **environment},
        )

    return call


def row(shown: subprocess.CompletedProcess[str], part: str) -> str:
    return next(line for line in shown.stdout.splitlines() if line.startswith(part))


def test_doctor_names_cause_and_next_step(cli: Call, nothing: dict[str, str]) -> None:
    shown = cli("doctor", "--sandbox", "auto", **nothing)
    assert shown.returncode == BROKEN
    said = row(shown, "sandbox auto")
    assert "missing" in said
    assert "bubblewrap (bwrap) is not installed" in said
    assert "apt-get install bubblewrap" in said and "--sandbox docker" in said
    assert "subprocess" not in said  # never offered as a way out
    assert "limit of the sandbox" not in shown.stdout
    assert [line for line in shown.stdout.splitlines() if "missing" in line] == [said]


def test_run_names_cause_and_next_step_and_makes_nothing(
    cli: Call, nothing: dict[str, str], tmp_path: Path
) -> None:
    shown = cli("run", "--sandbox", "auto", "--limit", "1", **nothing)
    assert shown.returncode == BROKEN
    assert "error: bubblewrap (bwrap) is not installed" in shown.stderr
    assert "next step: apt-get install bubblewrap" in shown.stderr
    assert "Traceback" not in shown.stderr
    assert not list((tmp_path / "work").glob("**/*.parquet"))
    assert not list((tmp_path / "work").glob("releases/*"))


@pytest.mark.slow
def test_verify_names_cause_and_next_step(
    cli: Call, nothing: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "kernel.hip").write_text("int x;\n")
    shown = cli(
        "verify", "add_relu_half", str(tmp_path / "kernel.hip"), "--sandbox", "auto", **nothing
    )
    assert shown.returncode == BROKEN
    assert "bubblewrap (bwrap) is not installed" in shown.stderr
    assert "next step: apt-get install bubblewrap" in shown.stderr


def test_docker_without_a_daemon_is_named(cli: Call, nothing: dict[str, str]) -> None:
    shown = cli("doctor", "--sandbox", "docker", **nothing)
    assert shown.returncode == BROKEN
    said = row(shown, "sandbox docker")
    assert "missing" in said and "no docker daemon answers" in said
    assert "start dockerd, or set DOCKER_HOST" in said


@pytest.mark.parametrize("host", ["unix:///dev/null", "tcp://127.0.0.1:1", "no address", "ssh://"])
def test_an_address_of_no_daemon_is_a_missing_sandbox(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(SandboxUnavailable, match="no docker daemon answers") as caught:
        open_sandbox("docker")
    assert "DOCKER_HOST" in caught.value.next_step


def test_a_daemon_without_our_image_is_named(
    bare_address: str, cli: Call, nothing: dict[str, str]
) -> None:
    shown = cli("doctor", "--sandbox", "docker", **{**nothing, "DOCKER_HOST": bare_address})
    assert shown.returncode == BROKEN
    said = row(shown, "sandbox docker")
    assert "the docker daemon has no image of ours" in said
    assert "make image-local" in said


def test_auto_does_not_take_docker_without_our_image(
    bare_address: str, nothing: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", nothing["PATH"])
    monkeypatch.setenv("DOCKER_HOST", bare_address)
    with pytest.raises(SandboxUnavailable, match="is not installed"):
        open_sandbox("auto")


def test_auto_takes_docker_with_our_image_and_says_so(
    docker_address: str,
    nothing: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("PATH", nothing["PATH"])
    monkeypatch.setenv("DOCKER_HOST", docker_address)
    assert open_sandbox("auto").name == "docker"
    assert "docker instead of bubblewrap: bubblewrap (bwrap) is not installed" in caplog.text


@pytest.mark.parametrize("answer", ["false", "echo no luck >&2; exit 1"])
def test_a_bubblewrap_that_does_not_work_is_no_reason_for_less(
    answer: str, nothing: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Path(nothing["PATH"]) / "bwrap"
    fake.write_text(f"#!/bin/sh\n{answer}\n")
    fake.chmod(0o755)
    for name, value in nothing.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SandboxUnavailable, match="does not work on this machine") as caught:
        open_sandbox("auto")
    assert ("no luck" in caught.value.cause) == ("no luck" in answer)
    assert "apt-get install bubblewrap" in caught.value.next_step


def test_a_program_that_only_says_yes_is_not_taken_for_bubblewrap(
    nothing: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Path(nothing["PATH"]) / "bwrap"
    fake.write_text("#!/bin/sh\necho ready\nexit 0\n")
    fake.chmod(0o755)
    for name, value in nothing.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SandboxUnavailable, match="does not work on this machine"):
        open_sandbox("auto")


def test_auto_takes_bubblewrap_where_both_work(
    docker_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_address)
    assert open_sandbox("auto").name == "bubblewrap"
