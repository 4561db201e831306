"""Which agents work on which language: the one map a new agent joins."""

from __future__ import annotations

from collections.abc import Callable

from kernelvault.agents.contract import Agent
from kernelvault.agents.inductor.agent import InductorAgent
from kernelvault.agents.replay import ReplayAgent, replayed_problems
from kernelvault.agents.template import TemplateAgent
from kernelvault.errors import ConfigError, UsageError
from kernelvault.sandbox import Sandbox
from kernelvault.settings import Settings

_AGENTS: dict[tuple[str, str], Callable[[Settings, Sandbox], Agent]] = {
    ("hip", "template"): lambda settings, sandbox: TemplateAgent(settings.attempts or 4),
    ("hip", "replay"): lambda settings, sandbox: ReplayAgent("hip"),
    ("triton", "inductor"): lambda settings, sandbox: InductorAgent(
        settings, sandbox, settings.attempts or 2
    ),
    ("triton", "replay"): lambda settings, sandbox: ReplayAgent("triton"),
}


def agents_for(language: str, problem: str) -> tuple[str, ...]:
    """Names of the agents that work on `problem`; raises UsageError for a language without any."""
    names = [agent for known, agent in _AGENTS if known == language]
    if not names:
        known = ", ".join(sorted({known for known, _ in _AGENTS}))
        raise UsageError(f"no agent writes {language!r}", f"choose from {known}")
    replays = problem in replayed_problems(language)
    return tuple(name for name in names if name != "replay" or replays)


def make_agent(name: str, language: str, settings: Settings, sandbox: Sandbox) -> Agent:
    """A new agent; raises ConfigError when there is none of that name and language.

    An agent keeps nothing between problems, but may hold a warm sandbox: one a process is enough.
    """
    try:
        make = _AGENTS[language, name]
    except KeyError:
        raise ConfigError(f"no agent {name!r} writes {language!r}") from None
    return make(settings, sandbox)
