"""Settings: resolved once at the entry point into one total, frozen object.

Precedence, highest first: command-line options, environment (`KERNELVAULT_*`), the TOML file
(`--config`, else `KERNELVAULT_CONFIG`, else `./kernelvault.toml`), defaults. This module is the
only one that reads the environment.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from kernelvault.errors import ConfigError

PREFIX = "KERNELVAULT_"


@dataclass(frozen=True, slots=True)
class Settings:
    """Every knob, with its default.

    corpus, releases: folders of the live corpus and of releases.
    cache: compiled helpers, headers and reference results; safe to delete at any time.
    sandbox: `auto` (bubblewrap, or docker where only that works), `bubblewrap`, `docker`, or, with
        no isolation and labelled so in every verification, `subprocess` and `disposable-host`.
    targets: architectures every candidate is compiled for.
    languages: what agents write kernels in.
    attempts: most attempts of an agent on a problem (0: the agent's own number).
    jobs: problems worked on at the same time (0: one per CPU core).
    rocm_path: a ROCm installation ("" searches /opt/rocm, then the LLVM on PATH).
    """

    corpus: Path = Path("corpus")
    releases: Path = Path("releases")
    cache: Path = Path("~/.cache/kernelvault")
    sandbox: str = "auto"
    preset: str = "basic"
    targets: tuple[str, ...] = ("gfx942", "gfx950")
    languages: tuple[str, ...] = ("hip", "triton")
    attempts: int = 0
    jobs: int = 0
    seed: int = 0
    rocm_path: str = ""
    ray_address: str = ""

    def __post_init__(self) -> None:
        for name in ("corpus", "releases", "cache"):
            object.__setattr__(self, name, Path(getattr(self, name)).expanduser().absolute())

    @property
    def workers(self) -> int:
        """Problems worked on at the same time, at least one."""
        return self.jobs if self.jobs > 0 else max(1, len(os.sched_getaffinity(0)))


def resolve(
    overrides: Mapping[str, Any] | None = None,
    config: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """The settings of this run; raises ConfigError for unknown names or unusable values."""
    env = os.environ if environ is None else environ
    named = config or (Path(env[PREFIX + "CONFIG"]) if env.get(PREFIX + "CONFIG") else None)
    values = _read_file(named or Path("kernelvault.toml"), required=named is not None)
    for field in fields(Settings):
        if text := env.get(PREFIX + field.name.upper()):
            values[field.name] = text
    # The names users of ROCm and Ray already have in their environment.
    values.setdefault("rocm_path", env.get("ROCM_PATH", ""))
    values.setdefault("ray_address", env.get("RAY_ADDRESS", ""))
    values.update({k: v for k, v in (overrides or {}).items() if v is not None})
    return replace(Settings(), **{name: _convert(name, value) for name, value in values.items()})


def _read_file(path: Path, required: bool) -> dict[str, Any]:
    if not path.is_file():
        if required:
            raise ConfigError(f"there is no configuration file {path}", "check --config")
        return {}
    try:
        values = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "mend the file") from error
    unknown = set(values) - {field.name for field in fields(Settings)}
    if unknown:
        known = ", ".join(field.name for field in fields(Settings))
        raise ConfigError(f"{path} sets unknown {sorted(unknown)}", f"known settings: {known}")
    return values


def _convert(name: str, value: Any) -> Any:
    default = getattr(Settings(), name)
    try:
        if isinstance(default, Path):
            return Path(str(value))
        if isinstance(default, tuple):
            return tuple(value.split(",")) if isinstance(value, str) else tuple(map(str, value))
        return type(default)(value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"setting {name} cannot be {value!r}", f"give {default!r}") from error
