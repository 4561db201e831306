"""A full disk, a folder that cannot be written, inputs that cannot be read: told, and tidied up."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from backends import AsUser, as_user
from folders import own_tmp, sandboxes_in, soon

from kernelvault.errors import SandboxFault
from kernelvault.sandbox import Job, Limits, Sandbox, Task, WarmJob, open_sandbox

MiB = 1 << 20
LIMITS = Limits(wall_s=10)
_numbers = itertools.count()
BACKENDS = ("bubblewrap", "subprocess")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def job(argv: tuple[str, ...] = ("true",), **inputs: bytes | Path) -> Job:
    """A job unlike any other: there is no spare sandbox for it, and none will be made."""
    return Job(argv, inputs, env={"NUMBER": str(next(_numbers))}, limits=LIMITS)


@pytest.fixture(params=BACKENDS)
def fresh(request: pytest.FixtureRequest) -> Sandbox:
    return open_sandbox(request.param)


@pytest.fixture
def tmp(tmp_path: Path) -> Iterator[Path]:
    with own_tmp() as folder:
        yield folder


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[None]:
    """A file system in memory, mounted over `folder`."""
    command = ["mount", "-t", "tmpfs", "-o", f"mode=1777,{options}", "none", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"may not mount here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@needs_root
def test_inputs_that_do_not_fit_are_named_and_leave_nothing(fresh: Sandbox, tmp: Path) -> None:
    with small_disk(tmp, "size=1m"):
        with pytest.raises(SandboxFault, match=r"'large'.*No space left") as caught:
            fresh.run(job(small=b"x", large=bytes(2 * MiB)))
        assert "free space" in caught.value.next_step
        assert soon(lambda: list(tmp.iterdir()) == [])
        assert fresh.run(job()).ok


@needs_root
def test_a_host_file_that_does_not_fit_is_named(fresh: Sandbox, tmp: Path, tmp_path: Path) -> None:
    (tmp_path / "huge").write_bytes(bytes(2 * MiB))
    with small_disk(tmp, "size=1m"):
        with pytest.raises(SandboxFault, match=r"'huge'.*No space left"):
            fresh.run(job(huge=tmp_path / "huge"))
        assert soon(lambda: list(tmp.iterdir()) == [])


@needs_root
@pytest.mark.parametrize("options", ["size=1m,nr_inodes=1", "ro"])
def test_a_disk_that_takes_no_folder_is_named(options: str, fresh: Sandbox, tmp: Path) -> None:
    with small_disk(tmp, options):
        with pytest.raises(SandboxFault, match=f"cannot be made.*{tmp}") as caught:
            fresh.run(job())
        assert "free space" in caught.value.next_step and "TMPDIR" in caught.value.next_step
        assert soon(lambda: list(tmp.iterdir()) == [])


@needs_root
def test_a_disk_that_is_full_to_the_last_byte_is_named(tmp: Path) -> None:
    sandbox = open_sandbox("bubblewrap")
    with small_disk(tmp, "size=64k"):
        with pytest.raises(OSError, match="No space left"):
            (tmp / "filler").write_bytes(bytes(MiB))
        with pytest.raises(SandboxFault, match=f"cannot be made.*No space left.*{tmp}"):
            sandbox.run(job())
        assert [path.name for path in tmp.iterdir()] == ["filler"]


@needs_root
def test_a_warm_sandbox_goes_on_after_inputs_that_did_not_fit(tmp: Path) -> None:
    python = Path("/usr/bin/python3")
    warm = open_sandbox("bubblewrap").warm(WarmJob(python, "json", limits=LIMITS))
    with small_disk(tmp, "size=1m"):
        try:
            with pytest.raises(SandboxFault, match=r"'large'.*No space left"):
                warm.run(Task("json:loads", ("1",), {"large": bytes(2 * MiB)}))
            assert warm.run(Task("json:loads", ("1",), {"small": b"x"})).ok
        finally:
            warm.close()
        assert soon(lambda: list(tmp.iterdir()) == [])


@needs_root
def test_a_temporary_folder_of_another_user_is_named() -> None:
    folder = Path(tempfile.mkdtemp(prefix="kvt-"))
    folder.chmod(0o755)

    def attempt() -> str:
        tempfile.tempdir = str(folder)
        try:
            open_sandbox("subprocess").run(job())
        except SandboxFault as fault:
            return str(fault)
        return "it ran"

    try:
        said = as_user(attempt)
        assert f"Permission denied: '{folder}/" in said
        assert "set TMPDIR to another folder" in said
        assert list(folder.iterdir()) == []
    finally:
        folder.rmdir()


def test_where_no_temporary_folder_can_be_written_the_fault_says_so() -> None:
    code = (
        "import tempfile; from kernelvault.sandbox import *\n"
        "from kernelvault.errors import SandboxFault\n"
        "sandbox = open_sandbox('subprocess')\n"
        "tempfile.tempdir = None; tempfile._candidate_tempdir_list = lambda: ['/proc/none']\n"
        "try: sandbox.run(Job(('true',)))\n"
        "except SandboxFault as fault: print(fault)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "No usable temporary directory found" in done.stdout


@pytest.mark.parametrize("kind", ["missing", "a folder", "a pipe", "a loop", "a device"])
def test_an_input_that_is_no_file_is_named_and_leaves_nothing(
    kind: str, backend: Sandbox, tmp: Path, tmp_path: Path
) -> None:
    path = Path("/dev/zero") if kind == "a device" else tmp_path / "in.put"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path, 0o644)
    elif kind == "a loop":
        path.symlink_to(path)
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    with pytest.raises(SandboxFault, match=f"the input 'data'.*{path}") as caught:
        backend.run(job(first=b"x", data=path))
    assert caught.value.next_step
    assert soon(lambda: sandboxes_in(tmp) == [])


@needs_root
def test_an_input_that_may_not_be_read_is_named(tmp: Path) -> None:
    secret = tmp / "secret"
    secret.write_text("x")
    secret.chmod(0o600)

    with pytest.raises(SandboxFault) as caught:
        AsUser().run(job(data=secret))
    said = str(caught.value)
    assert "the input 'data' cannot be put into the sandbox: [Errno 13]" in said
    assert str(secret) in said
    assert "give the file to this user" in said
    assert soon(lambda: [path.name for path in tmp.iterdir()] == ["secret"])


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Another process that changes the size of a file as often as it can."""
    code = (
        "import os, sys\nfile = os.open(sys.argv[1], os.O_WRONLY)\nsize = os.fstat(file).st_size\n"
        "print(flush=True)\nwhile True:\n"
        "    os.ftruncate(file, size + 4096)\n    os.ftruncate(file, size)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def test_a_file_that_changes_while_it_is_read_is_named(
    fresh: Sandbox, tmp: Path, tmp_path: Path
) -> None:
    busy = tmp_path / "busy"
    busy.write_bytes(bytes(64 * MiB))
    busy.chmod(0o600)  # not for everybody, so it is copied
    with changing(busy), pytest.raises(SandboxFault, match=f"{busy} changed while it was read"):
        fresh.run(job(data=busy))
    assert soon(lambda: sandboxes_in(tmp) == [])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o444])
def test_a_file_comes_in_whole_whatever_its_mode(mode: int, fresh: Sandbox, tmp_path: Path) -> None:
    data = os.urandom(3 * MiB + 17)
    (tmp_path / "data").write_bytes(data)
    (tmp_path / "data").chmod(mode)
    (tmp_path / "link").symlink_to("data")
    script = 'cat "$1" "$2" > "$3"'
    argv = ("/bin/sh", "-c", script, "sh", "/in/data", "/in/link", "/out/both")
    result = fresh.run(job(argv, data=tmp_path / "data", link=tmp_path / "link"))
    assert result.files == {"both": data + data}
    assert (tmp_path / "data").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("name", ["", "a/b", "../up", "/etc/x", ".hidden", "."])
def test_an_input_name_that_is_not_plain_is_refused(name: str, fresh: Sandbox, tmp: Path) -> None:
    with pytest.raises(ValueError, match="is not a plain file name"):
        fresh.run(job(**{name: b"x"}))
    assert soon(lambda: sandboxes_in(tmp) == [])
