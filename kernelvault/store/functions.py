"""SQL functions by which a query, an expectation or a release check recomputes what rows claim."""

from __future__ import annotations

import json

import duckdb
from duckdb.func import FunctionNullHandling

from kernelvault.errors import ConfigError
from kernelvault.spec.candidate import candidate_id
from kernelvault.spec.judge import judge
from kernelvault.spec.preset import get_preset
from kernelvault.spec.problem import Domain, Signature, problem_id
from kernelvault.spec.rows import build
from kernelvault.spec.verification import verification_id

_TEXT = "VARCHAR"


def register_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Register `kv_outcome`, `kv_candidate_id`, `kv_problem_id`, `kv_verification_id`.

    Unreadable arguments give `invalid`, which equals no outcome and no id.
    """
    for name, function, count in (
        ("kv_outcome", outcome, 3),
        ("kv_candidate_id", recomputed_candidate_id, 4),
        ("kv_problem_id", recomputed_problem_id, 4),
        ("kv_verification_id", verification_id, 6),
    ):
        # Missing arguments reach the functions: a NULL answer would differ from nothing.
        connection.create_function(
            name, function, [_TEXT] * count, _TEXT, null_handling=FunctionNullHandling.SPECIAL
        )


def outcome(gate: str, evidence: str, preset: str) -> str:
    """The outcome that a verdict's evidence text implies."""
    try:
        return judge(gate, json.loads(evidence), get_preset(preset))
    except (ValueError, TypeError, ConfigError):
        return "invalid"


def recomputed_candidate_id(problem: str, language: str, source: str, options: str) -> str:
    """The id of a candidate row's content."""
    try:
        pairs = tuple((str(key), str(value)) for key, value in json.loads(options))
        return candidate_id(problem, language, source, pairs)
    except (ValueError, TypeError, AttributeError):
        return "invalid"


def recomputed_problem_id(source: str, signature: str, domain: str, mode: str) -> str:
    """The id of a problem row's content."""
    try:
        parts = build(Signature, json.loads(signature)), build(Domain, json.loads(domain))
        return problem_id(source, parts[0], parts[1], mode)
    except (ValueError, TypeError, KeyError, AttributeError):
        return "invalid"
