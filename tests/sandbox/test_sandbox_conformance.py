"""The sandbox contract, part one: what a program finds inside.

Each test runs on every backend. Where these differ, and why, stands in `DIFFERENCES`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conformance import Box, MiB, capabilities, limits, shell, survey

from kernelvault.errors import SandboxFault
from kernelvault.sandbox import LIMITS, Job
from kernelvault.sandbox.setup import ENV, SHARED_MEMORY_BYTES

BUBBLEWRAP = {"bubblewrap-root", "bubblewrap-user"}
DEVICES = {"full", "null", "ptmx", "random", "tty", "urandom", "zero"}


def with_soft_memory(box: Box) -> set[str]:
    """The name of the backend, and `soft memory` where the kernel does not enforce that limit."""
    soft = box.once(capabilities).level("memory") == "soft"
    return {box.name, "soft memory"} if soft else {box.name}


def refuses_memory(box: Box) -> bool:
    return box.python("bytearray(1 << 30)", memory_bytes=128 * MiB).ended == "exited"


def runs_without_memory(box: Box) -> bool:
    try:
        return box.argv("true", memory_bytes=7 * MiB).ok
    except SandboxFault:
        return False


def changes_its_uid(box: Box) -> bool:
    first, second = box.at_once([shell("id -u")] * 2)
    return first.log != second.log


def can(name: str) -> Callable[[Box], bool]:
    return lambda box: name in box.once(survey)["possible"]


def sets(name: str) -> Callable[[Box], bool]:
    return lambda box: name in box.once(survey)["env"]


def runs_from(folder: str) -> Callable[[Box], bool]:
    return lambda box: folder in box.once(survey)["runs from"]


# What is so on some backends only: where, why, and how that is seen.
DIFFERENCES: dict[str, tuple[set[str], str, Callable[[Box], bool]]] = {
    "programs run from /out": (
        BUBBLEWRAP,
        "bubblewrap cannot mount a tmpfs noexec",
        runs_from("/out"),
    ),
    "programs run from /dev/shm": (
        BUBBLEWRAP,
        "bubblewrap cannot mount a tmpfs noexec",
        runs_from("/dev/shm"),
    ),
    "PWD is set": (BUBBLEWRAP, "bubblewrap sets it with the folder to start in", sets("PWD")),
    "HOSTNAME is set": ({"docker"}, "Docker sets it with the name of the host", sets("HOSTNAME")),
    "/sys is there": (
        {"docker"},
        "Docker mounts it, read-only, and the runner reads its control group there",
        lambda box: box.once(survey)["sys"],
    ),
    "the uid has an account": (
        {"docker"},
        "the image has a list of accounts; bubblewrap shows no file of /etc",
        can("have an account"),
    ),
    "the task owns /out": (
        {"bubblewrap-user"},
        "a user namespace of an ordinary user has one uid, for the runner and its tasks",
        can("own the output folder"),
    ),
    "each run has a uid of its own": (
        {"bubblewrap-root"},
        "takes root outside; a container gets the uid that its image has an account for",
        changes_its_uid,
    ),
    "too large an allocation fails and the program goes on": (
        {"soft memory"},
        "without control groups each process has a limit of its own, which refuses memory",
        refuses_memory,
    ),
    "a run starts with less memory than the runner has": (
        {"soft memory"},
        "without control groups the runner's memory is not counted",
        runs_without_memory,
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_is_there_where_it_is_said_to_be(box: Box, name: str) -> None:
    where, why, seen = DIFFERENCES[name]
    assert seen(box) == bool(where & with_soft_memory(box)), why


def test_every_limit_is_reported_once(box: Box) -> None:
    report = box.once(capabilities)
    assert sorted(g.limit for g in report.guarantees) == sorted(LIMITS)
    assert all(g.how for g in report.guarantees)


def test_isolation_is_reported_as_enforced(box: Box) -> None:
    report = box.once(capabilities)
    assert report.isolated
    assert report.network_off
    soft = {g.limit for g in report.guarantees if g.level != "enforced"}
    assert soft <= {"memory", "devices"}


def test_the_environment_is_what_the_contract_says(box: Box) -> None:
    env = box.once(survey)["env"]
    assert {name: env[name] for name in env if name not in ("PWD", "HOSTNAME")} == ENV


def test_variables_of_a_job_are_added_and_win(box: Box) -> None:
    env = {"TEXT": "grüße\n✓ ", "EMPTY": "", "LC_ALL": "C"}
    script = 'printf "%s|%s|%s|%s" "$TEXT" "${EMPTY-unset}" "$LC_ALL" "$HOME"'
    result = box.run(Job(("sh", "-c", script), env=env, limits=limits()))
    assert result.log.decode() == "grüße\n✓ ||C|/tmp"


def test_a_program_starts_in_its_home(box: Box) -> None:
    facts = box.once(survey)
    assert facts["cwd"] == facts["env"]["HOME"] == facts["env"]["TMPDIR"] == "/tmp"


def test_a_program_is_not_root_and_has_no_group_of_root(box: Box) -> None:
    facts = box.once(survey)
    assert 0 not in facts["ids"]
    assert "become root" not in facts["possible"]


def test_a_program_has_no_capabilities_and_gets_none(box: Box) -> None:
    status = box.once(survey)["status"]
    sets = [status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")]
    assert [int(text, 16) for text in sets] == [0] * 5
    assert status["NoNewPrivs"] == "1"


def test_system_calls_are_filtered(box: Box) -> None:
    assert box.once(survey)["status"]["Seccomp"] == "2"


def test_the_host_has_another_name(box: Box) -> None:
    assert box.once(survey)["hostname"] == "sandbox"


def test_there_is_no_network_interface_but_the_loopback(box: Box) -> None:
    facts = box.once(survey)
    assert facts["interfaces"] == ["lo"]
    assert facts["routes"] == []


def test_proc_shows_the_runner_and_the_program_alone(box: Box) -> None:
    facts = box.once(survey)
    own, parent = map(str, facts["own"][:2])
    assert parent == "1"
    assert set(facts["processes"]) == {"1", own}
    assert facts["processes"][own][:2] == ["python3", "/in/survey.py"]


def test_no_path_of_the_host_shows_in_the_runners_command(box: Box) -> None:
    command = " ".join(box.once(survey)["processes"]["1"])
    assert str(Path.home()) not in command
    assert str(Path(__file__).parents[2]) not in command


def test_a_program_leads_a_session_without_a_terminal(box: Box) -> None:
    facts = box.once(survey)
    own, _, session, group = facts["own"]
    assert own == session == group
    assert facts["terminal"] == [False] * 3
    assert "open a terminal" not in facts["possible"]


def test_a_program_has_three_descriptors_and_nothing_to_read(box: Box) -> None:
    facts = box.once(survey)
    assert facts["descriptors"] == [0, 1, 2]
    assert facts["stdin"] == ""


def test_signals_and_the_mask_of_files_are_as_usual(box: Box) -> None:
    facts = box.once(survey)
    assert int(facts["status"]["SigBlk"], 16) == 0
    # Python ignores these two by itself: writing to a closed pipe, growing a file too far. The
    # first two of real time belong to the C library, which lets nobody reset them.
    ignored = int(facts["status"]["SigIgn"], 16) & ~(3 << 31)
    assert ignored == 1 << 12 | 1 << 24
    assert facts["umask"] == 0o022


def test_there_are_the_usual_devices_and_no_others(box: Box) -> None:
    assert set(box.once(survey)["devices"]) - {"stdin", "stdout", "stderr"} == DEVICES


def test_text_is_utf8(box: Box) -> None:
    assert box.once(survey)["encoding"] == "utf-8"


def test_only_three_folders_can_be_written(box: Box) -> None:
    facts = box.once(survey)
    assert facts["writable"] == ["/dev/shm", "/out", "/tmp"]
    assert "use a message queue folder" not in facts["possible"]


def test_folders_are_empty_at_first(box: Box) -> None:
    assert all(box.once(survey)["empty"].values())


def test_folders_have_the_sizes_of_the_limits(box: Box) -> None:
    sizes = box.once(survey)["sizes"]
    assert sizes == {
        "/tmp": 8 * MiB,
        "/out": 4 * MiB,
        "/dev/shm": min(8 * MiB, SHARED_MEMORY_BYTES),
    }


def test_programs_run_from_tmp(box: Box) -> None:
    assert "/tmp" in box.once(survey)["runs from"]


def test_limits_of_a_process_are_those_of_the_job(box: Box) -> None:
    found = box.once(survey)["limits"]
    expected = {"CPU": [10, 11], "NOFILE": [100] * 2, "FSIZE": [8 * MiB] * 2, "CORE": [0, 0]}
    assert found == expected
