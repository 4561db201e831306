"""The schedules the agent tries: how Inductor lowers, and the sizes of blocks we then choose."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# A longer row of fixed size is looped over: a block of it would not fit into registers.
MAX_PERSISTENT_ROW = 8192


@dataclass(frozen=True, slots=True)
class Variant:
    """One schedule.

    persistent: a reduction holds its whole row in one block (else it loops over the row).
    elements: elements of a block, a power of two, four times as many in a reduction.
    row: elements of a row that a looped reduction reads at a time.
    tiled: transposing kernels get two-dimensional blocks.
    gemm: BLOCK_M, BLOCK_N, BLOCK_K of matrix products.
    """

    name: str
    persistent: bool
    elements: int
    row: int
    tiled: bool
    num_warps: int
    num_stages: int
    gemm: tuple[int, int, int]

    def as_json(self) -> dict[str, Any]:
        """The schedule as it is recorded with a candidate."""
        return {**asdict(self), "gemm": list(self.gemm)}


VARIANTS = (
    Variant("default", True, 1024, 512, True, 4, 2, (64, 64, 32)),
    Variant("looped", False, 512, 512, False, 4, 2, (32, 64, 32)),
    Variant("wide", True, 2048, 1024, True, 8, 1, (128, 64, 32)),
    Variant("narrow", False, 256, 256, True, 2, 1, (32, 32, 64)),
)


def variant_of(known: dict[str, Any]) -> Variant:
    """The variant that `as_json` described; raises TypeError for anything else."""
    return Variant(**{**known, "gemm": tuple(known["gemm"])})
