"""`kernelvault verify` on Triton files, as a user calls it: exit codes, repeatable bundles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "triton_examples"
COMMAND = str(Path(sys.executable).with_name("kernelvault"))


def verify(tmp_path: Path, problem: Path | str, candidate: Path) -> tuple[int, dict[str, object]]:
    command = [COMMAND, "verify", str(problem), str(candidate), "--json"]
    done = subprocess.run(
        [*command, "--corpus", str(tmp_path / "corpus")],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def test_a_triton_file_passes(tmp_path: Path) -> None:
    code, told = verify(tmp_path, EXAMPLES / "softmax_problem.py", EXAMPLES / "softmax.py")
    assert code == 0, told
    assert told["passed"]


@pytest.mark.slow
def test_a_bundle_repeats_a_triton_failure(tmp_path: Path) -> None:
    code, told = verify(tmp_path, EXAMPLES / "softmax_problem.py", EXAMPLES / "softmax_wrong.py")
    assert code == 1
    (bundle,) = (tmp_path / "corpus" / "bundles").iterdir()
    environment = {**os.environ, "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"}
    again = subprocess.run(
        ["sh", str(bundle / "rerun.sh"), "--json", "--corpus", str(tmp_path / "other")],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert again.returncode == 1
    assert json.loads(again.stdout)["targets"] == told["targets"]
