"""Which agents work on which language: the one map a new agent joins."""

from __future__ import annotations

from collections.abc import Callable

from kernelvault.agents.contract import Agent
from kernelvault.agents.replay import ReplayAgent, replayed_problems
from kernelvault.agents.template import TemplateAgent
from kernelvault.errors import ConfigError, UsageError

_AGENTS: dict[tuple[str, str], Callable[[], Agent]] = {
    ("hip", "template"): TemplateAgent,
    ("hip", "replay"): ReplayAgent,
}


def agents_for(language: str, problem: str) -> tuple[str, ...]:
    """Names of the agents that work on `problem`; raises UsageError for a language without any."""
    names = [agent for known, agent in _AGENTS if known == language]
    if not names:
        known = ", ".join(sorted({known for known, _ in _AGENTS}))
        raise UsageError(f"no agent writes {language!r}", f"choose from {known}")
    replays = problem in replayed_problems()
    return tuple(name for name in names if name != "replay" or replays)


def make_agent(name: str, language: str) -> Agent:
    """A fresh agent; raises ConfigError when there is none of that name and language."""
    try:
        return _AGENTS[language, name]()
    except KeyError:
        raise ConfigError(f"no agent {name!r} writes {language!r}") from None
