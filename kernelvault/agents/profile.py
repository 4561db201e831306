"""The static profile an agent sees of its last attempt: registers, LDS, occupancy, instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelvault.spec.rows import plain
from kernelvault.spec.verification import Verification


def static_profile(verifications: Sequence[Verification]) -> dict[str, Any]:
    """Kernel resource usage per target, `{target: [kernel, ...]}`; empty when nothing compiled."""
    return {v.target: plain(v.kernels) for v in verifications if v.kernels}
