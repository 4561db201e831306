"""Spool, commit, look-ups, views and faults of a corpus."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import store_records as make

from kernelvault.errors import StoreFault, UsageError
from kernelvault.sandbox import UNISOLATED
from kernelvault.spec.rows import to_row
from kernelvault.store import Corpus
from kernelvault.store.query import encode, run_query
from schemas import TABLES

SPAWN = multiprocessing.get_context("spawn")


def fill(corpus: Corpus, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        corpus.spool(*make.unit(number))


def contents(corpus: Corpus) -> dict[str, list[tuple[object, ...]]]:
    with corpus.connection() as connection:
        return {
            name: connection.table(name).order(f'"{table.key}"').fetchall()
            for name, table in TABLES.items()
        }


def test_commit_drains_once_and_repeating_changes_nothing(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    fill(corpus, 4)
    report = corpus.commit()
    assert (report.units, report.added["candidates"], report.added["verifications"]) == (4, 4, 12)
    assert list((tmp_path / "spool").glob("*.json")) == []
    fill(corpus, 4)
    assert not corpus.commit().changed
    assert len(contents(corpus)["verifications"]) == 12


def test_spooled_and_committed_work_is_known(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    key, rows = make.unit(0)
    ids = [str(row["verification_id"]) for row in rows["verifications"]]
    corpus.spool(key, rows)
    for seen in (corpus, Corpus(tmp_path)):
        assert seen.has_attempt(key)
        assert seen.has_verifications(ids)
    corpus.commit()
    assert Corpus(tmp_path).has_verifications(ids)
    assert not corpus.has_attempt("none")
    assert corpus.candidate(str(rows["candidates"][0]["candidate_id"])).language == "hip"
    assert [to_row(v) for v in corpus.verifications(ids)]
    with pytest.raises(UsageError):
        corpus.candidate("none")


def test_samples_are_what_passed_everything(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    corpus.spool(*make.unit(0))
    corpus.spool(*make.unit(1, mismatches=3))
    corpus.commit()
    with corpus.connection() as connection:
        (row,) = connection.sql(
            "SELECT problem, targets, vgpr, tier, latency_ms FROM samples"
        ).fetchall()
        assert row == ("problem_0", ["gfx942", "gfx950"], 40, "emulated", None)
        assert connection.sql("SELECT count(*) FROM sample_targets").fetchall() == [(2,)]
    with corpus.connection("amd") as connection:
        assert connection.sql("SELECT count(*) FROM samples").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("channel", "admitted"),
    [
        ("amd", ["bubblewrap", "docker"]),
        ("preview", ["bubblewrap", "disposable-host", "docker", "subprocess"]),
    ],
)
def test_without_isolation_only_preview_admits(
    tmp_path: Path, channel: str, admitted: list[str]
) -> None:
    corpus = Corpus(tmp_path)
    for number, sandbox in enumerate((*UNISOLATED, "bubblewrap", "docker", "none")):
        made = make.candidate(make.problem(0), number)
        judged = make.verification(made, "gfx942", tier="hardware", sandbox=sandbox)
        corpus.spool(sandbox, {"verifications": [to_row(judged)]})
    corpus.commit()
    query = "SELECT json_extract_string(environment, '$.sandbox') FROM admitted_verifications"
    with corpus.connection(channel) as connection:
        assert sorted(name for (name,) in connection.sql(query).fetchall()) == admitted


def test_the_newest_verification_counts(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    key, rows = make.unit(0)
    corpus.spool(key, rows)
    worse = make.verification(
        make.candidate(make.problem(0), 0), "wave64", mismatches=1, toolchain="t2", age=-1
    )
    corpus.spool("later", {"verifications": [to_row(worse)]})
    corpus.commit()
    with corpus.connection() as connection:
        assert connection.sql("SELECT count(*) FROM samples").fetchall() == [(0,)]


def test_a_unit_spooled_again_with_other_rows_keeps_both(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    for number in range(2):
        corpus.spool("same", make.unit(number)[1])
    assert corpus.commit().added["attempts"] == 2


def test_views_of_an_empty_corpus_have_their_columns(tmp_path: Path) -> None:
    with Corpus(tmp_path).connection() as connection:
        for name in TABLES:
            assert connection.table(name).columns == TABLES[name].schema.names
        assert connection.sql("SELECT count(*) FROM samples").fetchall() == [(0,)]


def test_damaged_spool_file_is_set_aside_and_the_rest_goes_on(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    fill(corpus, 2)
    (tmp_path / "spool" / "broken.json").write_text('{"attempts": [')
    (tmp_path / "spool" / "odd.json").write_text('{"attempts": [{"turn": "x"}]}')
    assert Corpus(tmp_path).commit().units == 2
    assert [p.name for p in corpus.damaged_units()] == ["broken.json", "odd.json"]


def test_truncated_parquet_is_a_fault_that_names_the_file(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    fill(corpus, 1)
    corpus.commit()
    (file,) = (tmp_path / "tables" / "attempts").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(StoreFault, match=file.name):
        Corpus(tmp_path).has_attempt("any")


def test_every_truncated_or_missing_file_is_named(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    for number in range(3):
        fill(corpus, 1, number)
        corpus.commit()
    (_, second, third) = (Path(file) for file in corpus.delta.files("candidates"))
    whole = second.read_bytes()
    second.write_bytes(whole[:-1])
    with pytest.raises(StoreFault, match=second.name):
        run_query(corpus, "SELECT count(*) FROM candidates")
    second.write_bytes(whole)
    third.unlink()
    with pytest.raises(StoreFault, match=f"{third.name} is missing"):
        corpus.connection()


def test_scrambled_file_is_a_fault_that_names_it(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    fill(corpus, 2)
    corpus.commit()
    (file,) = map(Path, corpus.delta.files("attempts"))
    size = file.stat().st_size
    file.write_bytes(b"PAR1" + bytes(size - 8) + b"PAR1")
    with pytest.raises(StoreFault, match=file.name):
        run_query(corpus, "SELECT * FROM attempts")


def test_the_closest_tier_to_hardware_describes_a_sample(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    _, rows = make.unit(0)
    corpus.spool("emulated", rows)
    timed = [{**row, "tier": "hardware"} for row in rows["verifications"]]
    for row in timed:
        row.update(verification_id=f"hardware {row['target']}", latency_ms=0.5)
    corpus.spool("hardware", {"verifications": timed})
    corpus.commit()
    query = "SELECT tier, targets, latency_ms FROM samples"
    with corpus.connection() as connection:
        assert connection.sql(query).fetchall() == [("hardware", ["gfx942", "gfx950"], 0.5)]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs privileges")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk_is_a_fault_and_loses_nothing_spooled(tiny_disk: Path) -> None:
    corpus = Corpus(tiny_disk)
    spooled = 0
    with pytest.raises(StoreFault):
        for number in range(200):
            corpus.spool(*make.unit(number))
            spooled += 1
    with pytest.raises(StoreFault):
        corpus.commit()
    subprocess.run(["mount", "-o", "remount,size=16m", str(tiny_disk)], check=True)
    corpus.commit()
    assert len(contents(corpus)["attempts"]) == spooled


def test_read_only_folder_is_a_fault(tiny_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    with pytest.raises(StoreFault, match="written"):
        Corpus(tiny_disk).spool(*make.unit(0))


def _commit(path: Path) -> None:
    Corpus(path).commit()


def test_killed_commits_resume_to_the_same_tables(tmp_path: Path) -> None:
    calm = Corpus(tmp_path / "calm")
    fill(calm, 30)
    calm.commit()
    stormy = Corpus(tmp_path / "stormy")
    fill(stormy, 30)
    chance = random.Random(5)
    for _ in range(4):
        process = SPAWN.Process(target=_commit, args=(stormy.path,))
        process.start()
        lock = stormy.path / ".lock"
        while not lock.exists() and process.is_alive():
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.5))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        lock.unlink(missing_ok=True)
    Corpus(stormy.path).commit()
    assert contents(stormy) == contents(calm)


def _spool_and_commit(path: Path, start: int) -> None:
    corpus = Corpus(path)
    # Neighbours overlap by two units, as when work runs twice.
    fill(corpus, 5, start)
    corpus.commit()


def test_concurrent_writers_neither_lose_nor_repeat(tmp_path: Path) -> None:
    processes = [SPAWN.Process(target=_spool_and_commit, args=(tmp_path, 3 * i)) for i in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    corpus = Corpus(tmp_path)
    corpus.commit()
    attempts = [row[0] for row in contents(corpus)["attempts"]]
    assert sorted(attempts) == sorted({make.unit(number)[0] for number in range(14)})


def test_query_formats_and_errors(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    fill(corpus, 2)
    corpus.commit()
    table = run_query(corpus, "SELECT problem, targets FROM samples ORDER BY 1")
    assert b"problem_0" in encode(table, "csv")
    assert encode(table, "json").startswith(b"[")
    assert encode(table, "parquet")[:4] == b"PAR1"
    with pytest.raises(UsageError, match="no format"):
        encode(table, "xml")
    for wrong in ("SELECT nothing FROM samples", "DROP VIEW samples", "SELECT 1; SELECT 2"):
        with pytest.raises(UsageError):
            run_query(corpus, wrong)


def test_query_sees_no_file_but_those_of_the_corpus(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    corpus = Corpus(tmp_path / "corpus")
    fill(corpus, 1)
    corpus.commit()
    assert run_query(corpus, "SELECT source FROM candidates").num_rows == 1
    for wrong in (f"FROM '{secret}'", "FROM glob('/*')", "SELECT getenv('HOME')"):
        with pytest.raises(UsageError):
            run_query(corpus, wrong)
