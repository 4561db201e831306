"""Control groups of both versions: what is written, counted and removed, and where none works."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from backends import as_user

from kernelvault.sandbox import Job, Limits, cgroup, open_sandbox
from kernelvault.sandbox.cgroup import Cgroup
from kernelvault.sandbox.owner import identity

ROOT = Path(__file__).parents[2]
MiB = 1 << 20
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
needs_groups = pytest.mark.skipif(cgroup.version() is None, reason="needs control groups")


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A root folder as version 1 has it."""
    for controller in ("memory", "pids"):
        (tmp_path / controller).mkdir()
        (tmp_path / controller / "cgroup.procs").touch()
    return tmp_path


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A root folder as version 2 has it."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("memory\n")
    (tmp_path / "kernelvault").mkdir()
    (tmp_path / "kernelvault/cgroup.subtree_control").touch()
    return tmp_path


def test_version_2_gets_its_limits_in_one_folder(two: Path) -> None:
    group = cgroup.make(2, 64 * MiB, 16, two)
    (folder,) = group.folders
    assert folder.parent == two / "kernelvault"
    assert folder.name.startswith(identity())
    assert (folder / "memory.max").read_text() == str(64 * MiB)
    assert (folder / "pids.max").read_text() == "16"
    assert group.counter == folder / "memory.events"


def test_version_2_turns_on_the_controllers_that_are_off(two: Path) -> None:
    cgroup.make(2, 64 * MiB, 16, two)
    assert (two / "cgroup.subtree_control").read_text() == "+pids"
    assert (two / "kernelvault/cgroup.subtree_control").read_text() == "+memory +pids"


def test_version_1_gets_its_limits_in_a_folder_for_each_controller(one: Path) -> None:
    group = cgroup.make(1, 64 * MiB, 16, one)
    memory, pids = group.folders
    assert memory.parent == one / "memory/kernelvault"
    assert pids.parent == one / "pids/kernelvault"
    assert (memory / "memory.limit_in_bytes").read_text() == str(64 * MiB)
    assert (pids / "pids.max").read_text() == "16"
    assert not (memory / "memory.memsw.limit_in_bytes").exists()  # as without swap accounting
    assert group.counter == memory / "memory.oom_control"


def test_groups_have_names_of_their_own(two: Path) -> None:
    assert cgroup.make(2, MiB, 1, two).folders != cgroup.make(2, MiB, 1, two).folders


@needs_groups
def test_the_kernel_takes_the_limits() -> None:
    group = cgroup.make(cgroup.version() or 1, 64 * MiB, 16)
    try:
        files = ("memory.max", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "pids.max")
        paths = [folder / name for folder in group.folders for name in files]
        values = {path.name: int(path.read_text()) for path in paths if path.exists()}
        assert values.pop("pids.max") == 16
        assert set(values.values()) == {64 * MiB}
        assert group.oom_kills() == 0
    finally:
        group.close()
    assert not [folder for folder in group.folders if folder.exists()]


def test_no_version_is_found_where_there_are_no_groups(tmp_path: Path) -> None:
    assert cgroup.version(tmp_path) is None
    assert cgroup.version(tmp_path / "absent") is None


def test_version_1_without_a_controller_is_none_and_leaves_nothing(one: Path) -> None:
    (one / "pids/cgroup.procs").unlink()
    with pytest.raises(ValueError, match="no pids controller"):
        cgroup.make(1, MiB, 1, one)
    assert not list((one / "pids").iterdir())


def test_version_2_without_delegation_is_none(two: Path) -> None:
    (two / "cgroup.subtree_control").unlink()
    with pytest.raises(OSError, match=r"cgroup\.subtree_control"):
        cgroup.make(2, MiB, 1, two)


@needs_root
def test_a_root_that_an_ordinary_user_cannot_write_has_no_version(two: Path) -> None:
    for folder in (two, *two.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    assert as_user(lambda: cgroup.version(two)) is None


@pytest.mark.parametrize(
    ("text", "kills"),
    [
        (b"low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 7\n", 3),
        (b"oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", 2),
        (b"oom_kill_disable 1\nunder_oom 1\n", 0),
        (b"", 0),
        (b"oom_kill", 0),
        (b"oom_kill ", 0),
        (b"oom_kill \n7\n", 0),
        (b"oom_kill many\n", 0),
        (b"oom_kill -1\n", 0),
        (b"\xff\xfe\noom_kill 5\n", 5),
        (b"oom_kill " + b"9" * 5000, 0),
    ],
)
def test_kills_are_counted_and_nonsense_counts_as_none(
    text: bytes, kills: int, tmp_path: Path
) -> None:
    (tmp_path / "counter").write_bytes(text)
    assert Cgroup((), tmp_path / "counter").oom_kills() == kills


def test_a_counter_that_is_gone_counts_none(tmp_path: Path) -> None:
    assert Cgroup((), tmp_path / "absent").oom_kills() == 0
    assert Cgroup((), tmp_path).oom_kills() == 0


def test_removal_of_what_is_gone_already_succeeds(tmp_path: Path) -> None:
    assert cgroup.remove(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    assert cgroup.remove(tmp_path / "empty")
    assert not (tmp_path / "empty").exists()


@needs_groups
def test_removal_kills_what_is_in_the_group() -> None:
    group = cgroup.make(cgroup.version() or 1, 64 * MiB, 16)
    sleeper = subprocess.Popen(["sh", "-c", group.join_script() + "exec sleep 60"])
    deadline = time.monotonic() + 5
    while not (group.folders[-1] / "cgroup.procs").read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    group.close()
    assert sleeper.wait(timeout=5) == -signal.SIGKILL
    assert not [folder for folder in group.folders if folder.exists()]


def test_a_group_that_cannot_be_removed_is_said_to_stay(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("no number\n")
    began = time.monotonic()
    assert not cgroup.remove(tmp_path)
    assert time.monotonic() - began < 5


def test_a_process_that_we_cannot_see_is_no_reason_to_kill_ourselves(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("0\n")  # so the kernel shows processes of others
    code = (
        "import sys; from pathlib import Path; from kernelvault.sandbox import cgroup\n"
        "print(cgroup.remove(Path(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, start_new_session=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "False\n")


CHECK = """
import json
from kernelvault.sandbox import Job, Limits, open_sandbox
sandbox = open_sandbox("bubblewrap")
hungry = "x = [bytearray(1 << 20) for _ in range(200)]; import time; time.sleep(9)"
program = ("python3", "-c", f"import os\\nfor _ in range(3): os.fork()\\n{hungry}")
ran = sandbox.run(Job(program, limits=Limits(wall_s=8, memory_bytes=512 << 20)))
levels = {g.limit: (g.level, g.how) for g in sandbox.capabilities().guarantees}
print(json.dumps([levels["memory"], levels["process count"], ran.ended]))
"""


@needs_root
def test_where_groups_are_read_only_memory_is_watched_and_said_to_be_soft() -> None:
    hidden = 'mount -t tmpfs -o ro none /sys/fs/cgroup && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hidden, "sh", sys.executable, "-c", CHECK],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("may not mount here")
    memory, processes, ended = json.loads(done.stdout)
    assert memory == ["soft", "looked at every 0.05 s, and RLIMIT_DATA for each process"]
    assert processes[1] == "RLIMIT_NPROC"
    assert ended == "memory_limit"


@needs_groups
def test_where_groups_work_memory_is_said_to_be_enforced() -> None:
    sandbox = open_sandbox("bubblewrap")
    assert sandbox.capabilities().hard_memory_limit
    hungry = Job(("python3", "-c", "x = b'x' * (1 << 28)"), limits=Limits(memory_bytes=64 * MiB))
    assert sandbox.run(hungry).ended == "memory_limit"
