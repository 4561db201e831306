"""Faults: what went wrong with us or our surroundings, never with a candidate.

    KernelVaultError
    ├── UsageError                 bad arguments, configuration or input files      exit 2
    │   ├── ConfigError
    │   ├── ProblemRejected        a problem file that cannot serve as a reference
    │   └── CorpusInvalid          a release or corpus that fails its own checks
    └── InfrastructureError        a missing or broken part of the machine          exit 3
        ├── ToolchainMissing
        ├── SandboxUnavailable
        ├── SandboxFault           the sandbox itself failed: worth retrying
        ├── ReferenceFault         the reference worker died of a cause outside the problem
        ├── StoreFault             the corpus cannot be read or written
        └── OrchestrationFault     Prefect or Ray could not do its part

A kernel that crashes, hangs or lies is a verdict, a value; it is never one of these.
"""

from __future__ import annotations

from typing import ClassVar


class KernelVaultError(Exception):
    """Base of every fault. `cause` says what happened, `next_step` what the reader can do.

    `retryable` is the retry class orchestrators read. Instances pickle with both texts.
    """

    exit_code: ClassVar[int] = 3
    retryable: ClassVar[bool] = False

    def __init__(self, cause: str, next_step: str = "") -> None:
        super().__init__(cause, next_step)
        self.cause = cause
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.cause}\n  next step: {self.next_step}" if self.next_step else self.cause


class UsageError(KernelVaultError):
    """The caller gave something that cannot be used."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is unknown or has an unusable value."""


class ProblemRejected(UsageError):
    """A problem file that cannot serve as a reference; `reason` is a stable one-word code."""

    def __init__(self, reason: str, cause: str, next_step: str = "") -> None:
        super().__init__(cause, next_step)
        self.args = (reason, cause, next_step)
        self.reason = reason


class CorpusInvalid(UsageError):
    """A release or corpus whose own checks fail; nothing may be built on it."""

    exit_code = 1


class InfrastructureError(KernelVaultError):
    """Something around us is missing or broken."""


class ToolchainMissing(InfrastructureError):
    """No compiler that can do the job was found."""


class SandboxUnavailable(InfrastructureError):
    """No sandbox backend works on this machine."""


class SandboxFault(InfrastructureError):
    """The sandbox failed before or beside the payload."""

    retryable = True


class ReferenceFault(InfrastructureError):
    """The reference worker was killed or ran out of resources for a reason outside the problem."""

    retryable = True


class StoreFault(InfrastructureError):
    """The corpus cannot be read or written."""


class OrchestrationFault(InfrastructureError):
    """Prefect or Ray could not do its part."""

    retryable = True
