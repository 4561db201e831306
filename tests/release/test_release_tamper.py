"""Releases: cut once, checked from the folder alone; whoever tampers is named."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

sys.path.append(str(Path(__file__).parents[1] / "store"))

import store_records as make

from kernelvault import release
from kernelvault.errors import CorpusInvalid, StoreFault, UsageError
from kernelvault.release.manifest import list_files, read_manifest
from kernelvault.settings import Settings
from kernelvault.store import Corpus
from schemas import TABLES


def settings_at(path: Path) -> Settings:
    return Settings(corpus=path / "corpus", releases=path / "releases")


def filled(path: Path) -> Settings:
    settings = settings_at(path)
    corpus = Corpus(settings.corpus)
    for number in range(4):
        corpus.spool(*make.unit(number))
    corpus.spool(*make.unit(9, mismatches=2))
    corpus.commit()
    return settings


@pytest.fixture
def cut(tmp_path: Path) -> release.Release:
    return release.create(filled(tmp_path))


def candidate_id(number: int) -> str:
    return str(make.unit(number)[1]["candidates"][0]["candidate_id"])


def problems(path: Path) -> str:
    return "\n".join(map(str, release.verify(path).problems))


def rewrite(path: Path, table: str, change: str, partition: str = "") -> None:
    """Replace rows of a released table by the query `change`, then forge the manifest."""
    file = path / "data" / table / partition / "part-0.parquet"
    rows = pq.ParquetFile(file).read()
    file.chmod(0o644)
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        pq.write_table(connection.sql(change).to_arrow_table(), file)
    manifest = path / "manifest.json"
    manifest.chmod(0o644)
    data = json.loads(manifest.read_text())
    data["files"] = [
        {"path": e.path, "sha256": e.sha256, "bytes": e.bytes} for e in list_files(path)
    ]
    manifest.write_text(json.dumps(data))


def test_release_is_sound_self_contained_and_cut_once(tmp_path: Path) -> None:
    settings = filled(tmp_path)
    first = release.create(settings)
    assert (first.path.name, first.counts["samples"], first.unchanged) == ("preview-0001", 4, False)
    assert release.verify(first.path).passed
    query = (
        f"SELECT family, count(*), avg(vgpr) FROM read_parquet("
        f"'{first.path}/data/samples/**/*.parquet', hive_partitioning=true) GROUP BY 1 ORDER BY 1"
    )
    assert duckdb.sql(query).fetchall() == [("elementwise", 3, 40.0), ("softmax", 1, 40.0)]
    assert "4 samples" in (first.path / "README.md").read_text()
    again = release.create(settings)
    assert (again.path, again.unchanged) == (first.path, True)
    Corpus(settings.corpus).spool(*make.unit(5))
    assert release.create(settings).version == "preview-0002"


def test_equal_work_on_another_host_at_another_time_is_the_same_content(tmp_path: Path) -> None:
    here, there = settings_at(tmp_path / "a"), settings_at(tmp_path / "b")
    for settings in (here, there):
        key, rows = make.unit(0)
        for row in rows["verifications"]:
            row["host"] = settings.corpus.parent.name
            row["started_at"] += timedelta(seconds=len(row["host"]))
        Corpus(settings.corpus).spool(key, rows)
    first, second = (read_manifest(release.create(s).path) for s in (here, there))
    assert first.content_sha256 == second.content_sha256
    assert first.files != second.files


def test_equal_corpora_give_equal_bytes(tmp_path: Path) -> None:
    first, second = (release.create(filled(tmp_path / name)) for name in "ab")
    assert list_files(first.path) == list_files(second.path)


def test_a_damaged_release_is_not_taken_for_an_equal_one(tmp_path: Path) -> None:
    settings = filled(tmp_path)
    (release.create(settings).path / "README.md").unlink()
    assert release.create(settings).version == "preview-0002"


def test_truncated_file_is_named(cut: release.Release) -> None:
    file = next((cut.path / "data" / "samples").rglob("*.parquet"))
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:200])
    found = problems(cut.path)
    assert f"{file.relative_to(cut.path)}: differs from its digest" in found
    assert "cannot be read" in found


def test_card_states_tier_limits_and_counts(cut: release.Release) -> None:
    text = (cut.path / "README.md").read_text()
    for phrase in (
        "license:\n  - apache-2.0\n",
        "No kernel of this release has ever run on an AMD GPU",
        "`latency_ms` and `speedup` are null",
        "| elementwise | hip | template | emulated | 3 |",
        "kernelvault release verify preview-0001",
        "`compile` on `gfx950`",
    ):
        assert phrase in text
    assert not (cut.path / "README.md").stat().st_mode & 0o222


def test_flipped_byte_extra_and_missing_file_are_named(cut: release.Release) -> None:
    file = cut.path / "data" / "attempts" / "part-0.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.chmod(0o644)
    file.write_bytes(data)
    (cut.path / "extra.txt").write_text("x")
    (cut.path / "README.md").unlink()
    found = problems(cut.path)
    assert "data/attempts/part-0.parquet: differs" in found
    assert "extra.txt: is not in the manifest" in found
    assert "README.md: is missing" in found


def test_flipped_verdict_under_a_forged_manifest_is_named(cut: release.Release) -> None:
    flip = """SELECT * REPLACE (true AS passed, list_transform(
        verdicts, lambda v: struct_update(v, outcome := 'passed', reason := '')) AS verdicts)
        FROM rows"""
    rewrite(cut.path, "verifications", flip, "tier=emulated/target=wave64")
    assert f"outcome: {candidate_id(9)}: correctness on wave64" in problems(cut.path)


@pytest.mark.parametrize("table", ["samples", "candidates"])
def test_swapped_sources_are_named(cut: release.Release, table: str) -> None:
    swap = """SELECT * REPLACE (coalesce(
        lead(source) OVER (ORDER BY candidate_id), first(source) OVER (ORDER BY candidate_id)
        ) AS source) FROM rows"""
    rewrite(cut.path, table, swap, "language=hip")
    found = problems(cut.path)
    assert all(f"candidate id: {candidate_id(n)}" in found for n in range(4))


def test_erased_evidence_under_a_forged_manifest_is_named(cut: release.Release) -> None:
    erase = """SELECT * REPLACE (list_transform(
        verdicts, lambda v: struct_update(v, evidence := NULL::TEXT)) AS verdicts) FROM rows"""
    rewrite(cut.path, "verifications", erase, "tier=emulated/target=gfx942")
    found = problems(cut.path)
    for number in range(4):
        assert f"outcome: {candidate_id(number)}: compile on gfx942" in found


def test_repeated_rows_under_a_forged_manifest_are_named(cut: release.Release) -> None:
    rewrite(cut.path, "samples", "SELECT * FROM rows UNION ALL SELECT * FROM rows", "language=hip")
    assert f"duplicate: {candidate_id(0)}: is released more than once" in problems(cut.path)


def test_smuggled_candidate_is_named(cut: release.Release) -> None:
    """A failed candidate is written among the samples, as if it had passed."""
    smuggle = f"""SELECT * FROM rows UNION ALL
        SELECT DISTINCT * REPLACE ('{candidate_id(9)}' AS candidate_id) FROM rows LIMIT 5"""
    rewrite(cut.path, "samples", smuggle, "language=hip")
    expected = f"requirement: {candidate_id(9)}: is released without correctness passed on wave64"
    assert expected in problems(cut.path)


def test_dropped_verifications_unmake_samples(cut: release.Release) -> None:
    rewrite(cut.path, "verifications", "SELECT * FROM rows LIMIT 0", "tier=emulated/target=gfx950")
    assert "lacks a verdict its channel requires" in problems(cut.path)


def test_flipped_verdict_in_the_live_corpus_blocks_the_release(tmp_path: Path) -> None:
    settings = filled(tmp_path)
    path = settings.corpus / "tables" / "verifications"
    with Corpus(settings.corpus).connection() as connection:
        rows = connection.table("verifications").to_arrow_table().to_pylist()
    for row in rows:
        row["passed"] = True
        for verdict in row["verdicts"]:
            verdict["outcome"] = "passed"
    forged = pa.Table.from_pylist(rows, schema=TABLES["verifications"].schema)
    write_deltalake(DeltaTable(path), forged, mode="overwrite", partition_by=["tier", "target"])
    expected = f"(?s)outcomes_follow_from_evidence.*{candidate_id(9)}.*correctness"
    with pytest.raises(CorpusInvalid, match=expected):
        release.create(settings)
    assert list(settings.releases.glob("preview-*")) == []


def test_no_corpus_and_no_sample_are_usage_errors(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    with pytest.raises(UsageError, match="no corpus"):
        release.create(settings)
    assert not settings.corpus.exists()
    Corpus(settings.corpus).spool(*make.unit(9, mismatches=2))
    with pytest.raises(UsageError, match="no sample of the preview channel"):
        release.create(settings)
    with pytest.raises(UsageError, match="no sample of the amd channel"):
        release.create(settings, "amd")
    assert list(settings.releases.glob("[!.]*")) == []


def test_a_damaged_corpus_is_a_fault_that_names_the_file(tmp_path: Path) -> None:
    settings = filled(tmp_path)
    (file,) = (settings.corpus / "tables" / "attempts").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(StoreFault, match=file.name):
        release.create(settings)


def test_unknown_channel_and_no_release_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no release channel"):
        release.create(settings_at(tmp_path), "gold")
    with pytest.raises(UsageError, match="manifest"):
        release.verify(tmp_path)
