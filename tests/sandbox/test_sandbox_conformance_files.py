"""The sandbox contract, part two: the files a program gets and gives, on every backend."""

from __future__ import annotations

import random
import string
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance import Box, MiB, shell, survey

from kernelvault.errors import SandboxFault
from kernelvault.sandbox import Mount, SandboxResult
from kernelvault.sandbox.inside.answering import MAX_FILES

NAMES = ("grüße ✓", "two words", "-rf", "a'b\"c", "$HOME", "x" * 100, "日本語.txt", "UPPER.tar.gz")
ODD_FILES = """
import os
from pathlib import Path
out = Path("/out")
(out / "good").write_text("good")
os.link(out / "good", out / "second name")
(out / "folder").mkdir()
(out / "folder" / "inner").write_text("inner")
os.mkfifo(out / "fifo")
(out / "absolute").symlink_to("/in/secret")
(out / "dangling").symlink_to("nowhere")
(out / "to good").symlink_to("good")
(out / ".hidden").write_text("hidden")
(out / "line\\nend").write_text("line end")
(out / ("y" * 101)).write_text("long")
os.close(os.open(os.fsencode(out) + b"/\\xff", os.O_CREAT))
"""
ODD_NAMES = ("folder", "fifo", "absolute", "dangling", "to good", ".hidden", "line\\nend", "y" * 9)


@pytest.mark.parametrize("action", ["write", "truncate", "remove", "rename", "add", "link"])
def test_inputs_are_read_only(box: Box, action: str) -> None:
    facts = box.once(survey)
    assert action not in facts["possible"]
    assert facts["victim"] == "as given"


def test_modes_and_times_of_inputs_cannot_be_changed(box: Box) -> None:
    facts = box.once(survey)
    assert not {"change modes", "change times", "make a folder"} & set(facts["possible"])
    assert facts["inputs"] == {"survey.py": "0o644", "victim": "0o644"}


def test_names_and_bytes_make_the_round_trip(box: Box) -> None:
    chance = random.Random(3)
    inputs = {name: chance.randbytes(number * 1000) for number, name in enumerate(NAMES)}
    inputs["all"] = bytes(range(256)) * 4096
    result = box.shell("cp /in/* /out/", inputs)
    assert result.ok, result.log
    assert dict(result.files) == inputs
    assert result.files[NAMES[0]] == b""


def test_many_inputs_are_all_there(box: Box) -> None:
    inputs = {f"input-{number}": str(number).encode() for number in range(1500)}
    result = box.shell("ls /in | wc -l; cat /in/* | md5sum; cat /in/input-1499", inputs)
    assert result.log.split()[0] == b"1500"
    assert result.log.endswith(b"1499")


def test_an_input_name_that_is_not_plain_is_refused(box: Box) -> None:
    for name in ("folder/file", "", ".hidden", "..", "nul\0"):
        with pytest.raises(ValueError, match=r"plain|null"):
            box.argv_with({name: b""})


def test_a_missing_input_or_a_folder_is_named(box: Box, shared: Path) -> None:
    for path in (shared / "missing", shared):
        with pytest.raises(SandboxFault, match=str(path)):
            box.argv_with({"input": path})


def test_a_host_file_keeps_its_bytes_and_its_right_to_run(box: Box, shared: Path) -> None:
    (shared / "tool").write_text("#!/bin/sh\necho ran\n")
    (shared / "tool").chmod(0o755)
    (shared / "data").write_text("#!/bin/sh\necho must not run\n")
    (shared / "data").chmod(0o644)
    (shared / "link").symlink_to("tool")
    files = {name: shared / name for name in ("tool", "data", "link")}
    result = box.shell("/in/tool; /in/link; /in/data || echo $?; ls /in", files)
    denied = "/bin/sh: 1: /in/data: Permission denied"
    assert result.log.decode().splitlines() == ["ran", "ran", denied, "126", "data", "link", "tool"]


def test_a_mount_shows_a_tree_read_only(box: Box, shared: Path) -> None:
    (shared / "deep" / "er").mkdir(parents=True)
    (shared / "deep" / "er" / "file").write_text("mounted")
    target = Path("/opt/some/where")
    script = "cat /opt/some/where/deep/er/file; touch /opt/some/where/new"
    result = box.argv("sh", "-c", script, mounts=(Mount(shared, target),))
    assert result.log.startswith(b"mounted")
    assert b"Read-only" in result.log
    assert not (shared / "new").exists()


def test_a_mount_may_be_one_file(box: Box, shared: Path) -> None:
    (shared / "file").write_text("one")
    result = box.argv("cat", "/opt/file", mounts=(Mount(shared / "file", Path("/opt/file")),))
    assert result.log == b"one"


@pytest.mark.parametrize("name", ODD_NAMES)
def test_what_is_no_plain_file_is_not_returned_but_noted(box: Box, name: str) -> None:
    assert name not in box.once(odd_files).files
    assert any(name in note for note in box.once(odd_files).notes)


def test_plain_files_beside_odd_ones_are_returned(box: Box) -> None:
    files = box.once(odd_files).files
    assert dict(files) == {"good": b"good", "second name": b"good"}
    assert len(box.once(odd_files).notes) == len(ODD_NAMES) + 1


def odd_files(box: Box) -> SandboxResult:
    return box.python(ODD_FILES, {"secret": b"secret"})


def test_files_without_rights_are_returned(box: Box) -> None:
    result = box.shell("echo a > /out/a; chmod 0 /out/a; chmod 0 /out 2> /dev/null")
    assert dict(result.files) == {"a": b"a\n"}


def test_holes_are_returned_as_zeros(box: Box) -> None:
    result = box.shell("truncate -s 1M /out/hole; printf end >> /out/hole")
    assert result.files["hole"] == bytes(MiB) + b"end"


def test_as_many_files_as_allowed_are_returned_and_no_more(box: Box) -> None:
    letters = string.ascii_lowercase[:2]
    result = box.shell(f"cd /out; seq {MAX_FILES} | xargs touch; touch {letters[0]}")
    assert len(result.files) == MAX_FILES
    assert result.notes == (f"refused '{letters[0]}': too many files",)


def test_files_of_a_program_that_failed_are_returned(box: Box) -> None:
    scripts = ("exit 7", "kill -SEGV $$")
    for result in box.at_once([shell(f"echo x > /out/x; {script}") for script in scripts]):
        assert not result.ok
        assert dict(result.files) == {"x": b"x\n"}


def test_nothing_is_kept_between_two_runs(box: Box) -> None:
    script = (
        "ls -A /tmp /out /dev/shm /in; for f in /tmp /out /dev/shm; do echo left > $f/left; done"
    )
    first, second = (box.shell(script, {name: b""}) for name in ("first", "second"))
    assert first.files == {"left": b"left\n"}
    assert second.log == first.log.replace(b"first", b"second")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder of the host that every user may pass, which one of pytest's is not for long."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
