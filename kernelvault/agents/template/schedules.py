"""Schedules: the named choices of a kernel, and in which order each kind of kernel tries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

WAVE = 64


@dataclass(frozen=True, slots=True)
class PointwiseSchedule:
    """`structure`: flat | grid_stride | vector; `per_thread`: elements a work-item handles."""

    structure: str
    block: int
    per_thread: int


@dataclass(frozen=True, slots=True)
class RowSchedule:
    """`structure`: block_wave (a block a row, wave shuffles), block_lds (a block a row, LDS tree),
    wave_per_row, thread_per_row."""

    structure: str
    block: int

    @property
    def rows_per_block(self) -> int:
        return {"wave_per_row": self.block // WAVE, "thread_per_row": self.block}.get(
            self.structure, 1
        )


@dataclass(frozen=True, slots=True)
class MatmulSchedule:
    """`structure`: lds_tile, naive (a work-item an output), wave_dot (a wave an output).

    A block computes tile_m x tile_n outputs, a work-item micro_m x micro_n of them, in steps of
    tile_k.
    """

    structure: str
    tile_m: int
    tile_n: int
    tile_k: int
    micro_m: int
    micro_n: int

    @property
    def threads(self) -> tuple[int, int]:
        if self.structure == "wave_dot":
            return (WAVE, self.tile_n)
        return (self.tile_n // self.micro_n, self.tile_m // self.micro_m)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One choice for each kind of kernel; `varied` names the kind this schedule is about."""

    varied: str  # pointwise | rows | matmul
    pointwise: PointwiseSchedule
    rows: RowSchedule
    matmul: MatmulSchedule

    @property
    def structure(self) -> str:
        return str(getattr(self, self.varied).structure)

    @property
    def size(self) -> int:
        """How much work or memory one work-item holds: what spills and low occupancy argue
        against."""
        if self.varied == "pointwise":
            return self.pointwise.per_thread
        if self.varied == "rows":
            return self.rows.block
        return self.matmul.micro_m * self.matmul.micro_n

    def as_json(self) -> dict[str, Any]:
        """The varied choices, named."""
        return {"kind": self.varied, **asdict(getattr(self, self.varied))}


_POINTWISE = (
    PointwiseSchedule("flat", 256, 1),
    PointwiseSchedule("vector", 256, 4),
    PointwiseSchedule("grid_stride", 256, 4),
    PointwiseSchedule("vector", 128, 2),
    PointwiseSchedule("flat", 64, 1),
)
_ROWS = (
    RowSchedule("block_wave", 256),
    RowSchedule("block_lds", 256),
    RowSchedule("wave_per_row", 256),
    RowSchedule("thread_per_row", 64),
    RowSchedule("block_wave", 512),
    RowSchedule("block_lds", 128),
)
_MATMUL = (
    MatmulSchedule("lds_tile", 16, 16, 16, 1, 1),
    MatmulSchedule("lds_tile", 32, 32, 16, 2, 2),
    MatmulSchedule("naive", 16, 16, 1, 1, 1),
    MatmulSchedule("wave_dot", 1, 4, 1, 1, 1),
    MatmulSchedule("lds_tile", 64, 64, 16, 4, 4),
)


def schedules_for(kind: str) -> Sequence[Schedule]:
    """The schedules of a kind of kernel, default first; the other kinds keep their defaults."""
    default = (_POINTWISE[0], _ROWS[0], _MATMUL[0])
    if kind == "pointwise":
        return [Schedule(kind, choice, default[1], default[2]) for choice in _POINTWISE]
    if kind == "rows":
        return [Schedule(kind, default[0], choice, default[2]) for choice in _ROWS]
    return [Schedule(kind, default[0], default[1], choice) for choice in _MATMUL]
