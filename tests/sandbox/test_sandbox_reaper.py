"""What is removed after supervisors that died, and what is never touched."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import own_tmp

from kernelvault.sandbox import cgroup
from kernelvault.sandbox.owner import identity, lives
from kernelvault.sandbox.reaper import reap
from kernelvault.sandbox.setup import PREFIX


@pytest.fixture
def tmp(tmp_path: Path) -> Iterator[Path]:
    # That one first: it lies in the real one.
    with own_tmp() as folder:
        yield folder


@pytest.fixture(scope="module")
def dead() -> str:
    """The identity of a process that runs no more."""
    process = subprocess.Popen(["sleep", "60"])
    found = identity(process.pid)
    process.kill()
    process.wait()
    return found


@pytest.fixture
def living() -> Iterator[str]:
    """The identity of another process that runs."""
    process = subprocess.Popen(["sleep", "60"])
    yield identity(process.pid)
    process.kill()
    process.wait()


def abroad(name: str) -> str:
    """The same process id and start time, in another pid namespace."""
    namespace, rest = name.split(".", 1)
    return f"{int(namespace) + 1}.{rest}"


def full(folder: Path) -> Path:
    """A folder as a sandbox leaves it."""
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/input").write_text("x")
    (folder / "sub").chmod(0o500)
    return folder


def test_folders_of_the_dead_go_and_those_of_the_living_stay(
    tmp: Path, dead: str, living: str
) -> None:
    gone = [full(tmp / f"{PREFIX}{dead}-{letter}") for letter in "ab"]
    kept = [full(tmp / f"{PREFIX}{who}-a") for who in (living, identity(), abroad(dead))]
    assert reap() >= 2
    assert not [folder for folder in gone if folder.exists()]
    assert all((folder / "sub/input").read_text() == "x" for folder in kept)


def test_a_process_id_that_was_given_again_does_not_protect_the_folder(
    tmp: Path, living: str
) -> None:
    namespace, pid, start = living.split(".")
    old = full(tmp / f"{PREFIX}{namespace}.{pid}.{int(start) - 1}-a")
    assert reap() >= 1
    assert not old.exists()


LOOKALIKES = (
    "kernelvault-sandbox-notes",
    "kernelvault-sandbox-",
    "kernelvault-sandbox-1.2.3",
    "kernelvault-sandbox-backup-of-{dead}-a",
    "kernelvault-sandbox-v{dead}-a",
    "kernelvault-sandbox-{dead}.orig",
    "kernelvault-sandbox-{dead}_a",
    "kernelvault-sandboxes-{dead}-a",
    "my-kernelvault-sandbox-{dead}-a",
    "{dead}-a",
)


@pytest.mark.parametrize("name", LOOKALIKES)
def test_names_that_only_look_like_ours_are_left_alone(name: str, tmp: Path, dead: str) -> None:
    folder = full(tmp / name.format(dead=dead))
    reap()
    assert (folder / "sub/input").exists()


def test_a_link_named_like_ours_deletes_nothing_elsewhere(
    tmp: Path, tmp_path: Path, dead: str
) -> None:
    target = full(tmp_path / "elsewhere")
    link = tmp / f"{PREFIX}{dead}-link"
    link.symlink_to(target)
    reap()
    assert (target / "sub/input").exists()


def test_links_in_a_leftover_delete_nothing_elsewhere(tmp: Path, tmp_path: Path, dead: str) -> None:
    target = full(tmp_path / "elsewhere")
    folder = full(tmp / f"{PREFIX}{dead}-a")
    (folder / "folder").symlink_to(target)
    (folder / "file").symlink_to(target / "sub/input")
    os.link(target / "sub/input", folder / "second")
    reap()
    assert not folder.exists()
    assert (target / "sub/input").read_text() == "x"


def test_a_file_named_like_ours_is_left_alone(tmp: Path, dead: str) -> None:
    file = tmp / f"{PREFIX}{dead}-file"
    file.write_text("x")
    reap()
    assert file.read_text() == "x"


@pytest.mark.skipif(cgroup.version() is None, reason="needs control groups")
def test_groups_of_the_dead_go_and_those_of_the_living_stay(
    dead: str, living: str, tmp: Path
) -> None:
    parents = [folder.parent for folder in _made()]
    names = {"dead": f"{dead}-0", "living": f"{living}-0", "abroad": f"{abroad(dead)}-0"}
    groups = {who: [parent / name for parent in parents] for who, name in names.items()}
    every = [group for made in groups.values() for group in made]
    try:
        for group in every:
            group.mkdir()
        assert set(every) <= set(cgroup.leftovers())
        assert reap() >= len(parents)
        assert not [group for group in groups["dead"] if group.exists()]
        assert all(group.exists() for group in (*groups["living"], *groups["abroad"]))
    finally:
        for group in every:
            cgroup.remove(group)


def _made() -> tuple[Path, ...]:
    group = cgroup.make(cgroup.version() or 1, 64 << 20, 16)
    group.close()
    return group.folders


def test_leftovers_are_folders_below_ours_alone(tmp_path: Path) -> None:
    ours = [
        "kernelvault/1.2.3-0", "memory/kernelvault/1.2.3-1", "pids/kernelvault/1.2.3-1",
    ]  # fmt: skip
    others = ["1.2.3-0", "cpu/kernelvault/1.2.3-1", "docker/1.2.3-0", "kernelvault/tasks"]
    for name in (*ours, *others):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "kernelvault/1.2.3-file").touch()
    found = {str(path.relative_to(tmp_path)) for path in cgroup.leftovers(tmp_path)}
    assert found == set(ours)


def test_the_name_of_nobody_counts_as_alive(dead: str) -> None:
    assert lives("") and lives("sandbox") and lives(abroad(dead)) and lives(identity())
    assert not lives(dead)
    assert not lives(f"{dead}-17")
