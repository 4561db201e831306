"""An agent that replays recorded answers, in order, whatever the verdicts say.

The recordings shipped here are wrong on purpose: they show a newcomer, and prove to a test, that
each gate works. `recorded/index.json` says which problem each one answers and what it is meant to
show (`label`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from kernelvault.agents.contract import ProblemView, Proposal, Turn


@cache
def _index(language: str) -> tuple[dict[str, Any], ...]:
    text = (files(__package__) / "recorded" / "index.json").read_text(encoding="utf-8")
    return tuple(entry for entry in json.loads(text) if entry["language"] == language)


def replayed_problems(language: str) -> frozenset[str]:
    """Names of the problems that have recorded answers in a language."""
    return frozenset(entry["problem"] for entry in _index(language))


class ReplayAgent:
    """Replays the recorded answers of a problem in one language, one a turn."""

    name = "replay"
    version = "1"

    def __init__(self, language: str) -> None:
        self.language = language

    def propose(self, problem: ProblemView, history: Sequence[Turn]) -> Proposal | None:
        """The next recorded answer, None after the last."""
        recorded = [
            entry for entry in _index(self.language) if entry["problem"] == problem.problem.name
        ]
        if len(history) >= len(recorded):
            return None
        entry = recorded[len(history)]
        source = (files(__package__) / "recorded" / entry["file"]).read_text(encoding="utf-8")
        return Proposal(source, {}, "", label=entry["label"])
