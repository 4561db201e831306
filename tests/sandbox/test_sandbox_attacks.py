"""Every attack in `attacks/` is contained by every backend, and the attacks can tell when not."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack_suite import (
    ATTACKS,
    Backend,
    Host,
    Outcome,
    open_host,
    page,
    run_attack,
    run_unprotected,
)
from backends import NAMES

PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"
# Do no harm even when nothing stops them, whatever they have got hold of.
HARMLESS = (
    "abstract_sockets",
    "bpf",
    "compile_host_files",
    "daemon",
    "fd_flood",
    "file_handles",
    "io_uring",
    "kernel_log",
    "keyrings",
    "memory_lock",
    "network",
    "odd_sockets",
    "process_memory",
    "ptrace",
    "read_secrets",
    "shared_memory",
    "sysv_leftovers",
    "thread_bomb",
    "userfaultfd",
)
# These say nothing themselves: what they did is seen on the host.
SEEN_BY_DAMAGE = {
    "daemon": "left processes behind",
    "ptrace": "harmed a process of the host",
    "shared_memory": "left /dev/shm/kvattack-left",
    "sysv_leftovers": "left System V shm",
}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with open_host(tmp_path_factory.mktemp("host")) as host:
        yield host


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[Outcome]]:
    """What happened so far, by backend."""
    return {}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_contained(
    backend: Backend,
    name: str,
    host: Host,
    outcomes: dict[str, list[Outcome]],
    request: pytest.FixtureRequest,
) -> None:
    outcome = run_attack(backend, name, host)
    outcomes.setdefault(request.node.callspec.params["backend"], []).append(outcome)
    assert outcome.contained, "\n".join((*outcome.escaped, *outcome.host_damage))


@pytest.mark.skipif(os.geteuid() != 0, reason="shows what root could do")
@pytest.mark.parametrize("name", HARMLESS)
def test_an_attack_succeeds_where_nothing_stops_it(name: str, host: Host) -> None:
    outcome = run_unprotected(name, host)
    if name in SEEN_BY_DAMAGE:
        assert SEEN_BY_DAMAGE[name] in outcome.host_damage
    else:
        assert outcome.escaped


def test_the_page_says_how_attacks_end(
    outcomes: dict[str, list[Outcome]], request: pytest.FixtureRequest
) -> None:
    if any(len(outcomes.get(name, ())) != len(ATTACKS) for name in NAMES):
        pytest.skip("not every attack was run in every sandbox")
    text = page({name: outcomes[name] for name in NAMES})
    if request.config.getoption("--regen"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "run `pytest --regen tests/sandbox/test_sandbox_attacks.py`"
