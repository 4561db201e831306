"""Spare sandboxes: each is used once, none is used that should not be, none outlives its owner."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import docker
import pytest
from folders import own_tmp, sandboxes_in, soon

from kernelvault.errors import SandboxFault
from kernelvault.sandbox import Job, Limits, Mount, Sandbox, open_sandbox
from kernelvault.sandbox.bubblewrap import Bubblewrap
from kernelvault.sandbox.owner import identity
from kernelvault.sandbox.pool import Pool
from kernelvault.sandbox.session import Session
from kernelvault.sandbox.setup import Setup

ROOT = Path(__file__).parents[2]
LIMITS = Limits(wall_s=10)
# Where it runs: two namespaces, the first process and when that started, and the user.
WHO = "readlink /proc/self/ns/pid /proc/self/ns/mnt; cut -d' ' -f22 /proc/1/stat; id -u"
SETUP = Setup.of(Job(("true",), limits=LIMITS))


class Starts:
    """What starts sandboxes for a pool, and keeps those that it made."""

    def __init__(self, sandbox: Bubblewrap) -> None:
        self._start = sandbox._start
        self.made: list[Session] = []

    def __call__(self, setup: Setup) -> Session:
        session = self._start(setup)
        self.made.append(session)
        return session


@pytest.fixture
def starts() -> Starts:
    sandbox = open_sandbox("bubblewrap")
    assert isinstance(sandbox, Bubblewrap)
    return Starts(sandbox)


@pytest.fixture
def pool(starts: Starts) -> Iterator[Pool]:
    made = Pool(starts)
    yield made
    made.close()


def with_spare(pool: Pool, starts: Starts, setup: Setup = SETUP) -> Session:
    """Use the setup until a spare sandbox waits for it; that one."""
    for session in (pool.take(setup), pool.take(setup)):
        session.end()
    assert soon(lambda: pool._spares[setup] is not None)
    return starts.made[-1]


def who(sandbox: Sandbox) -> tuple[str, ...]:
    result = sandbox.run(Job(("sh", "-c", WHO), limits=LIMITS))
    assert result.ok, result.log
    return tuple(result.log.decode().split())


def test_no_two_jobs_see_the_same_sandbox(backend: Sandbox) -> None:
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: who(backend), range(9)))
    assert len(set(found)) == 9


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give each sandbox users of its own")
def test_no_two_jobs_have_the_same_user() -> None:
    sandbox = open_sandbox("bubblewrap")
    with ThreadPoolExecutor(3) as threads:
        users = list(threads.map(lambda _: who(sandbox)[3], range(9)))
    assert len(set(users)) == 9
    assert "0" not in users


def test_a_job_finds_nothing_of_another(backend: Sandbox) -> None:
    look = "set -- /proc/[0-9]*; echo $#; ls -A /tmp /out /dev/shm"
    leave = "for d in /tmp /out /dev/shm; do : > $d/x; done; sleep 60 &"
    job = Job(("sh", "-c", f"{look}; {leave}"), limits=LIMITS)
    logs = {backend.run(job).log for _ in range(4)}
    assert len(logs) == 1
    assert logs.pop().split() == [b"2", b"/dev/shm:", b"/out:", b"/tmp:"]


def test_the_first_use_of_a_setup_starts_one_sandbox_alone(pool: Pool, starts: Starts) -> None:
    pool.take(SETUP).end()
    pool.take(Setup.of(Job(("true",), env={"A": "1"}))).end()
    assert pool._thread is None
    assert len(starts.made) == 2


def test_a_spare_is_handed_out_once(pool: Pool, starts: Starts) -> None:
    spare = with_spare(pool, starts)
    first, second = pool.take(SETUP), pool.take(SETUP)
    assert first is spare
    assert second is not spare
    first.end()
    second.end()


def test_a_spare_serves_its_own_setup_alone(pool: Pool, starts: Starts) -> None:
    spare = with_spare(pool, starts)
    for change in ({"A": "1"}, {"A": "2"}):
        other = pool.take(Setup.of(Job(("true",), env=change)))
        assert other is not spare
        other.end()
    assert pool.take(SETUP) is spare
    spare.end()


@pytest.mark.slow
def test_many_setups_keep_few_spares(pool: Pool, starts: Starts) -> None:
    for number in range(6):
        with_spare(pool, starts, Setup.of(Job(("true",), env={"A": str(number)})))
    assert len([session for session in starts.made if session.alive]) == 4


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_spare_whose_tools_were_replaced_is_not_used(
    kind: str, pool: Pool, starts: Starts, tmp_path: Path
) -> None:
    tool, new = tmp_path / "tool", tmp_path / "new"
    for path, text in ((tool, "old"), (new, "new")):
        if kind == "folder":
            path.mkdir()
        (path / "file" if kind == "folder" else path).write_text(text)
    setup = Setup.of(Job(("true",), mounts=(Mount(tool, Path("/tool")),)))
    spare = with_spare(pool, starts, setup)
    tool.rename(tmp_path / "old")
    new.rename(tool)
    taken = pool.take(setup)
    assert taken is not spare
    assert not spare.alive
    taken.end()


def test_a_job_sees_the_tool_that_is_there_now(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    sandbox = open_sandbox("bubblewrap")
    tool = tmp_path / "tool"
    job = Job(("cat", "/tool"), mounts=(Mount(tool, Path("/tool")),), limits=LIMITS)
    for number in range(5):
        (tmp_path / "new").write_text(str(number))
        (tmp_path / "new").replace(tool)
        assert sandbox.run(job).log == str(number).encode()
        time.sleep(0.2)  # a spare comes up meanwhile


def test_a_tool_that_is_gone_is_named(tmp_path: Path) -> None:
    job = Job(("true",), mounts=(Mount(tmp_path / "absent"),), limits=LIMITS)
    for name in ("bubblewrap", "subprocess"):
        with pytest.raises(SandboxFault, match=f"{tmp_path}/absent"):
            open_sandbox(name).run(job)


def first_process(session: Session) -> int:
    """The process id, out here, of the first process of a sandbox."""
    mark = session.place.folder.name
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            inside = (folder / "status").read_text().split("NSpid:")[1].split("\n")[0].split()
            if inside[-1] == "1" and len(inside) > 1 and mark in (folder / "mountinfo").read_text():
                return int(folder.name)
        except OSError:
            continue
    raise AssertionError("the sandbox has no first process")


def test_a_spare_that_was_killed_is_replaced_and_the_job_runs(pool: Pool, starts: Starts) -> None:
    spare = with_spare(pool, starts)
    os.kill(first_process(spare), signal.SIGKILL)
    assert soon(lambda: not spare.stands())
    taken = pool.take(SETUP)
    assert taken is not spare
    assert not spare.place.folder.exists()
    result = taken.run({"argv": ["echo", "on"], "last": True, "rlimits": {}}, LIMITS)
    assert (result.ok, result.log) == (True, b"on\n")
    taken.end()


def test_a_container_that_was_killed_is_replaced_and_the_job_runs(
    docker_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_address)
    sandbox = open_sandbox("docker")
    job = Job(("echo", "on"), limits=LIMITS)
    for _ in range(2):
        assert sandbox.run(job).log == b"on\n"
    with closing(docker.DockerClient(base_url=docker_address)) as client:
        own = {"label": f"org.kernelvault.owner={identity()}"}
        assert soon(lambda: client.api.containers(filters=own))
        time.sleep(1)  # by now it is ready, or as good as
        for container in client.api.containers(filters=own):
            client.api.kill(container["Id"])
    assert sandbox.run(job).log == b"on\n"


def test_closing_ends_the_spares_and_later_jobs_still_run(pool: Pool, starts: Starts) -> None:
    with own_tmp() as folder:
        with_spare(pool, starts)
        assert len(sandboxes_in(folder)) == 1
        pool.close()
        assert sandboxes_in(folder) == []
        assert not [session for session in starts.made if session.alive]
        pool.take(SETUP).end()
        pool.take(SETUP).end()
        time.sleep(0.3)
        assert sandboxes_in(folder) == []


ENDS = """
import sys, time
from kernelvault.sandbox import Job, Limits, open_sandbox
from kernelvault.sandbox.owner import identity
sandbox = open_sandbox(sys.argv[1])
for _ in range(3):
    assert sandbox.run(Job(("true",), limits=Limits(wall_s=10))).ok
time.sleep(0.7)
print(identity())
"""


@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_spares_end_with_the_process(name: str, request: pytest.FixtureRequest) -> None:
    address = request.getfixturevalue("docker_address") if name == "docker" else ""
    with own_tmp() as folder:
        env = {**os.environ, "TMPDIR": str(folder), "DOCKER_HOST": address}
        command = [sys.executable, "-c", ENDS, name]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=True)
        assert done.stderr == b""
        assert sandboxes_in(folder) == []
    if name == "docker":
        own = {"label": f"org.kernelvault.owner={done.stdout.decode().strip()}"}
        with closing(docker.DockerClient(base_url=address)) as client:
            assert client.api.containers(all=True, filters=own) == []


def in_fork(action: Callable[[], object]) -> object:
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(theirs, pickle.dumps(action()))
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return pickle.loads(data)


def test_a_forked_copy_does_not_share_spares(pool: Pool, starts: Starts) -> None:
    spare = with_spare(pool, starts)

    def copy() -> tuple[str, bool]:
        taken = pool.take(SETUP)
        result = taken.run({"argv": ["echo", "copy"], "last": True, "rlimits": {}}, LIMITS)
        taken.end()
        return result.log.decode(), taken.place == spare.place

    assert in_fork(copy) == ("copy\n", False)
    assert spare.stands()
    assert pool.take(SETUP) is spare
    result = spare.run({"argv": ["echo", "own"], "last": True, "rlimits": {}}, LIMITS)
    assert result.log == b"own\n"
    spare.end()


def test_a_copy_that_closes_the_pool_leaves_the_spares(pool: Pool, starts: Starts) -> None:
    spare = with_spare(pool, starts)
    in_fork(pool.close)
    assert spare.stands()
    assert spare.place.folder.exists()


def test_a_copy_made_while_the_pool_was_busy_is_not_held_up(pool: Pool, starts: Starts) -> None:
    with pool._lock:  # as by a thread that the copy does not have
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(10)
                pool.take(SETUP).end()
                os._exit(0)
            finally:
                os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
