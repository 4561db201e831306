"""Every record survives Arrow and Delta; no type that a store changes is used."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parents[1] / "store"))

import store_records as make

from kernelvault.spec.rows import from_row, to_row
from kernelvault.store import Corpus
from schemas import TABLES

_PROBLEM = make.problem()
_CANDIDATE = make.candidate(_PROBLEM)
RECORDS = {
    "problems": _PROBLEM,
    "workloads": make.workload(_PROBLEM),
    "candidates": _CANDIDATE,
    "attempts": make.attempt(_PROBLEM, _CANDIDATE, 0),
    "verifications": make.verification(_CANDIDATE, "gfx942"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_schema_has_exactly_the_columns_of_the_record(name: str) -> None:
    assert TABLES[name].schema.names == list(to_row(RECORDS[name]))


@pytest.mark.parametrize("name", RECORDS)
def test_record_survives_the_table(name: str, tmp_path: Path) -> None:
    record = RECORDS[name]
    corpus = Corpus(tmp_path)
    corpus.spool("u", {name: [to_row(record)]})
    corpus.commit()
    with corpus.connection() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        (row,) = connection.table(name).to_arrow_table().cast(TABLES[name].schema).to_pylist()
    assert from_row(type(record), row) == record


def _types(kind: pa.DataType) -> list[pa.DataType]:
    children = [kind.field(i).type for i in range(kind.num_fields)]
    return [kind, *(inner for child in children for inner in _types(child))]


@pytest.mark.parametrize("name", TABLES)
def test_only_types_the_store_returns_unchanged(name: str) -> None:
    for field in TABLES[name].schema:
        for kind in _types(field.type):
            assert not pa.types.is_unsigned_integer(kind)
            assert not pa.types.is_dictionary(kind)
            assert not (pa.types.is_timestamp(kind) and kind.unit != "us")
