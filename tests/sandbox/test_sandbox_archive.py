"""What is accepted of a result archive, and what is refused by name."""

import io
import tarfile

import pytest

from kernelvault.sandbox.archive import MAX_FILES, read_archive


def tar(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for info, data in entries:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return sink.getvalue()


def entry(name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = ""):  # type: ignore[no-untyped-def]
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info, data


def test_plain_files_are_read() -> None:
    assert read_archive(tar(entry("./a.bin", b"12"), entry("b", b"")), 10) == (
        {"a.bin": b"12", "b": b""},
        (),
    )


@pytest.mark.parametrize(
    "bad",
    [
        entry("../up"),
        entry("/etc/passwd"),
        entry("deep/file"),
        entry(".hidden"),
        entry("x" * 101),
        entry("link", b"", tarfile.SYMTYPE, "/etc/passwd"),
        entry("hard", b"", tarfile.LNKTYPE, "a"),
        entry("pipe", b"", tarfile.FIFOTYPE),
        entry("device", b"", tarfile.CHRTYPE),
        entry("large", b"x" * 11),
    ],
    ids=lambda e: e[0].name[:12],
)
def test_everything_else_is_refused_and_noted(bad: tuple[tarfile.TarInfo, bytes]) -> None:
    files, notes = read_archive(tar(bad, entry("good")), 10)
    assert files == {"good": b"x"}
    assert len(notes) == 1


def test_too_many_files() -> None:
    files, notes = read_archive(tar(*(entry(f"f{i}") for i in range(MAX_FILES + 3))), 10)
    assert (len(files), len(notes)) == (MAX_FILES, 3)


@pytest.mark.parametrize("cut", [1, 600, 1500])
def test_a_damaged_archive_is_a_note(cut: int) -> None:
    data = bytearray(tar(entry("a", b"y" * 2000)))[:-cut]
    data[0:3] = b"\xff\xff\xff"
    files, notes = read_archive(bytes(data), 10_000)
    assert files == {}
    assert notes
