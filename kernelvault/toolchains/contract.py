"""The toolchain seam: compile a candidate for its targets and report what the compiler said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kernelvault.spec.verification import KernelUsage


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One compiler message, located in the user's file (line 0: no location there)."""

    severity: str  # error | warning | note
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What compiling for one target gave.

    `exit_code` 0 means a code object was made. `unsupported` is the reason why this compiler
    cannot know the target at all (a `not_run`, never a candidate's failure).
    """

    target: str
    exit_code: int
    kernels: tuple[KernelUsage, ...]
    code_object_sha256: str | None
    diagnostics: tuple[Diagnostic, ...]
    flags: tuple[str, ...]
    cpu_s: float
    ended: str = "exited"
    unsupported: str | None = None


@dataclass(frozen=True, slots=True)
class HostResult:
    """The host half of a candidate: undefined symbols of the linked library, or why it failed.

    `hazards` names what no symbol shows: inline assembly, sections of the candidate's choice.
    """

    exit_code: int
    undefined_symbols: tuple[str, ...]
    exported_symbols: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    library: bytes | None
    cpu_s: float
    ended: str = "exited"
    hazards: tuple[str, ...] = ()


class Toolchain(Protocol):
    """A compiler for one language. `digest` changes whenever its output could."""

    language: str
    version: str
    digest: str

    def compile(self, source: str, targets: Sequence[str]) -> tuple[CompileResult, ...]: ...

    def compile_host(self, source: str) -> HostResult: ...
