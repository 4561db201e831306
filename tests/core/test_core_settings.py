"""Where settings come from, in which order, and how bad ones are told."""

from pathlib import Path

import pytest

from kernelvault.errors import ConfigError
from kernelvault.settings import Settings, resolve


def test_precedence(tmp_path: Path) -> None:
    file = tmp_path / "k.toml"
    file.write_text('seed = 1\njobs = 1\npreset = "basic"\ntargets = ["gfx950"]\n')
    env = {"KERNELVAULT_SEED": "2", "KERNELVAULT_JOBS": "2", "ROCM_PATH": "/r"}
    made = resolve({"seed": 3, "jobs": None}, file, env)
    assert (made.seed, made.jobs, made.targets, made.rocm_path) == (3, 2, ("gfx950",), "/r")
    assert resolve({}, None, {"KERNELVAULT_CONFIG": str(file)}).seed == 1
    assert resolve({}, None, {"KERNELVAULT_TARGETS": "gfx90a,gfx942"}).targets == (
        "gfx90a",
        "gfx942",
    )


def test_paths_are_absolute_and_workers_positive() -> None:
    made = Settings(corpus=Path("here"), cache=Path("~/there"))
    assert made.corpus.is_absolute() and "~" not in str(made.cache)
    assert made.workers >= 1


@pytest.mark.parametrize(
    ("text", "part"),
    [("colour = 1", "colour"), ("seed = 'x'", "seed"), ("seed =", "not valid TOML")],
)
def test_bad_files_are_told(tmp_path: Path, text: str, part: str) -> None:
    file = tmp_path / "k.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=part):
        resolve({}, file, {})


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no configuration file"):
        resolve({}, tmp_path / "none.toml", {})
