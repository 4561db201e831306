"""The tables of a corpus.

Only types that the store returns unchanged are used: no unsigned integers, no dictionaries, no
nanoseconds. Units are in column names; nested records are JSON text columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

_TEXT = pa.string()
_TIME = pa.timestamp("us", tz="UTC")

_PROVENANCE = [
    pa.field("source_repo", _TEXT, nullable=False),
    pa.field("source_commit", _TEXT, nullable=False),
    pa.field("source_path", _TEXT, nullable=False),
    pa.field("license_spdx", _TEXT, nullable=False),
]

VERDICT = pa.struct(
    [
        pa.field("gate", _TEXT),
        pa.field("outcome", _TEXT),
        pa.field("reason", _TEXT),
        pa.field("evidence", _TEXT),
    ]
)

KERNEL = pa.struct(
    [
        pa.field("name", _TEXT),
        pa.field("vgpr", pa.int64()),
        pa.field("sgpr", pa.int64()),
        pa.field("agpr", pa.int64()),
        pa.field("vgpr_spills", pa.int64()),
        pa.field("sgpr_spills", pa.int64()),
        pa.field("scratch_bytes", pa.int64()),
        pa.field("lds_bytes", pa.int64()),
        pa.field("occupancy", pa.int64()),
        pa.field("instructions", pa.int64()),
        pa.field("mfma", pa.int64()),
        pa.field("isa", _TEXT),
    ]
)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table: its columns, the column that identifies a row, and how it is partitioned."""

    schema: pa.Schema
    key: str
    partition_by: tuple[str, ...] = ()


def _required(**columns: pa.DataType) -> list[pa.Field]:
    return [pa.field(name, kind, nullable=False) for name, kind in columns.items()]


_PROBLEMS = pa.schema(
    [
        *_required(
            problem_id=_TEXT,
            name=_TEXT,
            family=_TEXT,
            source=_TEXT,
            signature=_TEXT,
            domain=_TEXT,
            mode=_TEXT,
            graph_group=_TEXT,
        ),
        pa.field("operators", pa.list_(_TEXT), nullable=False),
        *_required(reference_precision=_TEXT),
        *_PROVENANCE,
    ]
)

_WORKLOADS = pa.schema(
    [
        *_required(
            workload_id=_TEXT,
            problem_id=_TEXT,
            kind=_TEXT,
            case=pa.int64(),
            seed=pa.int64(),
            shapes=_TEXT,
        ),
        pa.field("dtypes", pa.list_(_TEXT), nullable=False),
        *_required(distribution=_TEXT, layout=_TEXT, generator=_TEXT),
    ]
)

_CANDIDATES = pa.schema(
    [
        *_required(
            candidate_id=_TEXT, problem_id=_TEXT, language=_TEXT, source=_TEXT, options=_TEXT
        ),
        *_PROVENANCE,
    ]
)

_ATTEMPTS = pa.schema(
    [
        *_required(
            attempt_id=_TEXT,
            trajectory_id=_TEXT,
            turn=pa.int64(),
            problem_id=_TEXT,
            language=_TEXT,
            agent=_TEXT,
            agent_version=_TEXT,
            status=_TEXT,
        ),
        pa.field("candidate_id", _TEXT),
        *_required(schedule=_TEXT, feedback=_TEXT, reason=_TEXT, label=_TEXT),
    ]
)

_VERIFICATIONS = pa.schema(
    [
        *_required(
            verification_id=_TEXT,
            candidate_id=_TEXT,
            problem_id=_TEXT,
            target=_TEXT,
            tier=_TEXT,
            preset=_TEXT,
            preset_digest=_TEXT,
            gate_code_version=_TEXT,
            toolchain_digest=_TEXT,
            passed=pa.bool_(),
            verdicts=pa.list_(VERDICT),
            kernels=pa.list_(KERNEL),
        ),
        pa.field("code_object_sha256", _TEXT),
        pa.field("latency_ms", pa.float64()),
        pa.field("speedup", pa.float64()),
        *_required(environment=_TEXT, host=_TEXT, started_at=_TIME, seconds=pa.float64()),
    ]
)

_REJECTS = pa.schema(
    _required(
        reject_id=_TEXT,
        kind=_TEXT,
        subject=_TEXT,
        reason=_TEXT,
        cause=_TEXT,
        next_step=_TEXT,
        source_sha256=_TEXT,
        recorded_at=_TIME,
    )
)

# In commit order: rows that others refer to come first, verifications (the marker) last.
TABLES: dict[str, TableSchema] = {
    "problems": TableSchema(_PROBLEMS, "problem_id"),
    "workloads": TableSchema(_WORKLOADS, "workload_id"),
    "rejects": TableSchema(_REJECTS, "reject_id"),
    "candidates": TableSchema(_CANDIDATES, "candidate_id", ("language",)),
    "attempts": TableSchema(_ATTEMPTS, "attempt_id"),
    "verifications": TableSchema(_VERIFICATIONS, "verification_id", ("tier", "target")),
}
