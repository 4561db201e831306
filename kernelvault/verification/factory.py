"""Builds the verifier of a language from settings: the one map a new language or tier joins."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from kernelvault import __version__
from kernelvault.errors import ConfigError
from kernelvault.execution.cpu import HipCpuExecutor
from kernelvault.execution.triton.executor import TritonCpuExecutor
from kernelvault.sandbox.contract import Sandbox
from kernelvault.settings import Settings
from kernelvault.spec.preset import get_preset
from kernelvault.spec.verification import GPU_TARGETS
from kernelvault.toolchains import hip
from kernelvault.toolchains.triton.toolchain import TritonToolchain
from kernelvault.verification.contract import LanguageGates
from kernelvault.verification.hip import HipGates
from kernelvault.verification.triton import TritonGates
from kernelvault.verification.verifier import Verifier


def make_verifier(
    settings: Settings, sandbox: Sandbox, language: str, targets: Sequence[str] | None = None
) -> Verifier:
    """The verifier of `language` for `targets` (default: the settings').

    Raises ConfigError for an unknown language, target or preset, ToolchainMissing when there is
    no compiler.
    """
    wanted = tuple(targets or settings.targets)
    for target in wanted:
        if target not in GPU_TARGETS:
            known = ", ".join(GPU_TARGETS)
            raise ConfigError(f"unknown target {target!r}", f"choose from {known}")
    try:
        make_gates = _LANGUAGES[language]
    except KeyError:
        known = ", ".join(_LANGUAGES)
        raise ConfigError(f"no gates for language {language!r}", f"choose from {known}") from None
    preset = get_preset(settings.preset)
    return Verifier(make_gates(settings, sandbox), preset, wanted)


def _hip(settings: Settings, sandbox: Sandbox) -> LanguageGates:
    toolchain = hip.discover(settings, sandbox)
    executor = HipCpuExecutor(settings.cache, sandbox, toolchain)
    environment = {
        **_environment(sandbox),
        "compiler": toolchain.version,
    }
    return HipGates(toolchain, executor, environment)


def _triton(settings: Settings, sandbox: Sandbox) -> LanguageGates:
    toolchain = TritonToolchain(sandbox)
    environment = {**_environment(sandbox), "compiler": toolchain.version}
    return TritonGates(toolchain, TritonCpuExecutor(sandbox), environment)


_LANGUAGES: dict[str, Callable[[Settings, Sandbox], LanguageGates]] = {
    "hip": _hip,
    "triton": _triton,
}


def _environment(sandbox: Sandbox) -> dict[str, str | None]:
    return {
        "kernelvault": __version__,
        "python": platform.python_version(),
        "torch": _version("torch"),
        "triton": _version("triton"),
        "machine": platform.machine(),
        "system": platform.system(),
        "sandbox": sandbox.name,
        "container": None,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
