"""Each expectation catches the violation it is there for, and names who broke it."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "store"))

import store_records as make

from expectations.checkpoint import SUITES, run_checkpoint
from kernelvault.store import Corpus

GOOD = make.unit(0)[1]
FAILED = make.unit(2, mismatches=3)[1]
VICTIM = str(GOOD["candidates"][0]["candidate_id"])
LOSER = str(FAILED["candidates"][0]["candidate_id"])
PROBLEM = str(GOOD["problems"][0]["problem_id"])
TWICE = "INSERT INTO {table} SELECT * FROM {table} WHERE {victim}"


def change(column: str, value: str) -> str:
    return f"UPDATE {{table}} SET {column} = {value} WHERE {{victim}}"


def verdict(field: str, value: str) -> str:
    changed = f"list_transform(verdicts, lambda v: struct_update(v, {field} := {value}))"
    return change("verdicts", changed)


# suite, expectation, table to spoil, how, what the report must name
PLANTED = [
    ("samples", "there_are_samples", "samples", "DELETE FROM {table}", "observed 0"),
    ("samples", "candidate_ids_unique", "samples", TWICE, VICTIM),
    ("samples", "candidate_ids_derive_from_content", "samples", change("source", "'x'"), VICTIM),
    ("samples", "candidate_ids_derive_from_content", "samples", change("source", "NULL"), VICTIM),
    ("samples", "tiers_admitted_by_channel", "samples", change("tier", "'dreamt'"), VICTIM),
    ("samples", "targets_present", "samples", change("targets", "[]"), VICTIM),
    ("samples", "licence_known", "samples", change("license_spdx", "NULL"), VICTIM),
    ("samples", "licence_known", "samples", change("license_spdx", "'NOASSERTION'"), VICTIM),
    ("samples", "language_known", "samples", change("language", "'cuda'"), VICTIM),
    ("samples", "family_known", "samples", change("family", "'magic'"), VICTIM),
    (
        "requirements",
        "required_verdicts_passed",
        "samples",
        change("candidate_id", f"'{LOSER}'"),
        f"candidate_id {LOSER}, gate correctness, target wave64, outcome failed",
    ),
    (
        "requirements",
        "required_verdicts_passed",
        "samples",
        change("candidate_id", "'nobody'"),
        "candidate_id nobody, gate compile, target gfx950, outcome missing",
    ),
    (
        "verdicts",
        "outcomes_follow_from_evidence",
        "verifications",
        verdict("evidence", "'{{}}'"),
        f"candidate_id {VICTIM}, gate correctness, target wave64",
    ),
    (
        "verdicts",
        "outcomes_follow_from_evidence",
        "verifications",
        verdict("evidence", "NULL::TEXT"),
        f"candidate_id {VICTIM}, gate compile, target gfx942",
    ),
    ("verifications", "verification_ids_unique", "verifications", TWICE, VICTIM),
    (
        "verifications",
        "verification_ids_derive_from_content",
        "verifications",
        change("toolchain_digest", "'other'"),
        VICTIM,
    ),
    (
        "verifications",
        "passed_follows_from_verdicts",
        "verifications",
        change("passed", "false"),
        f"{VICTIM}, target gfx950",
    ),
    (
        "verifications",
        "no_latency_on_the_emulated_tier",
        "verifications",
        change("latency_ms", "0.5"),
        VICTIM,
    ),
    (
        "verifications",
        "latency_positive",
        "verifications",
        change("tier", "'hardware', latency_ms = -1.0"),
        VICTIM,
    ),
    ("candidates", "stored_once", "candidates", TWICE, VICTIM),
    ("candidates", "ids_derive_from_content", "candidates", change("source", "'x'"), VICTIM),
    ("problems", "problem_ids_unique", "problems", TWICE, PROBLEM),
    (
        "problems",
        "problem_ids_derive_from_content",
        "problems",
        change("signature", "'{{}}'"),
        PROBLEM,
    ),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    made = Corpus(tmp_path_factory.mktemp("corpus"))
    made.spool(*make.unit(0))
    made.spool(*make.unit(1))
    made.spool("failed", FAILED)
    made.commit()
    return made


def test_a_sound_corpus_passes_everything(corpus: Corpus) -> None:
    with corpus.connection() as connection:
        report = run_checkpoint(connection)
    assert report.passed, report.failures
    assert {result.suite for result in report.results} == set(SUITES)
    assert all(result.description for result in report.results)


@pytest.mark.parametrize(("suite", "name", "table", "spoil", "named"), PLANTED)
def test_planted_violation_is_named(
    corpus: Corpus, suite: str, name: str, table: str, spoil: str, named: str
) -> None:
    victim = f"problem_id = '{PROBLEM}'" if table == "problems" else f"candidate_id = '{VICTIM}'"
    with corpus.connection() as connection:
        connection.execute(f"CREATE TABLE copy AS SELECT * FROM {table}; DROP VIEW {table}")
        connection.execute(f"ALTER TABLE copy RENAME TO {table}")
        connection.execute(spoil.format(table=table, victim=victim))
        report = run_checkpoint(connection, [suite])
    failed = {result.name: result for result in report.failures}
    assert not report.passed
    assert any(named in line for line in failed[name].offending), failed[name]
    assert failed[name].unexpected_count > 0


def test_every_expectation_has_a_planted_violation() -> None:
    known = set()
    for suite in SUITES:
        text = (files("expectations") / "suites" / f"{suite}.json").read_text(encoding="utf-8")
        known |= {(suite, entry["meta"]["name"]) for entry in json.loads(text)["expectations"]}
    assert known == {planted[:2] for planted in PLANTED}
