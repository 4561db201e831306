"""What all tasks share: when another try is worth it, and why results are not cached by Prefect."""

from __future__ import annotations

from typing import Any, Final

from prefect.cache_policies import NO_CACHE

from kernelvault.errors import KernelVaultError

RETRIES: Final = 2
RETRY_DELAY_S: Final = 2.0

# The corpus itself answers by content id what is already known, and its keys hold the versions of
# gates and compilers, which a cache keyed on task inputs would not see change.
CACHE: Final = NO_CACHE


def worth_retrying(task: Any, run: Any, state: Any) -> bool:
    """Prefect's retry condition: only faults that say so themselves are tried again."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, KernelVaultError) and error.retryable
