"""The readers of what hostile code wrote: any bytes give a good value or one kind of error."""

from __future__ import annotations

import io
import json
import math
import tarfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelvault.sandbox.archive import MAX_FILES, MAX_NAME, read_archive
from kernelvault.spec.strict import (
    MAX_CONTAINERS,
    MAX_DEPTH,
    AtMost,
    Between,
    Cut,
    Malformed,
    loads,
    read,
    record,
)

few = settings(max_examples=60, deadline=None)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
LEAF = st.none() | st.booleans() | st.integers(-(10**38), 10**38) | FINITE | TEXT
JSON = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
WRITTEN = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    JSON,
    st.booleans(),
    st.sampled_from([None, 1]),
).map(str.encode)
# Mixed so that much of it is nearly JSON.
SCRAPS = st.lists(
    st.sampled_from(
        '{ } [ ] , : " \\ \\u \\ud800 \\" 1 -0 1e5 1e999 . true null NaN Infinity "a" "a":1 \n \x00'
        .split(" ")
    )
    | TEXT
).map("".join)  # fmt: skip


@few
@given(WRITTEN)
def test_loads_reads_what_json_reads(data: bytes) -> None:
    value, expected = loads(data), json.loads(data)
    assert value == expected
    assert repr(value) == repr(expected)  # 1, 1.0 and True are equal


@few
@given(SCRAPS.map(str.encode) | st.binary(max_size=40))
def test_loads_of_anything_is_what_json_reads_or_malformed(data: bytes) -> None:
    try:
        value = loads(data)
    except Malformed as error:
        assert str(error)
        return
    assert repr(value) == repr(json.loads(data))
    assert "\\ud" not in ascii(value).lower().replace("\\\\", "")
    json.dumps(value, allow_nan=False).encode()


@few
@given(TEXT, JSON, JSON, st.integers(0, 3))
def test_a_name_twice_is_refused_at_any_depth(name: str, one: Any, two: Any, depth: int) -> None:
    key = json.dumps(name)
    twice = f"{{{key}: {json.dumps(one)}, {key}: {json.dumps(two)}}}"
    with pytest.raises(Malformed, match="a name twice"):
        loads(("[" * depth + twice + "]" * depth).encode())


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 41, "1" * 500 + ".0"]
)
def test_a_number_that_is_none_is_refused(text: str) -> None:
    for data in (text, f"[{text}]", f'{{"a": {text}}}'):
        with pytest.raises(Malformed, match=r"is no JSON|holds (the|a) number"):
            loads(data.encode())


@few
@given(st.integers(0xD800, 0xDFFF), TEXT, st.booleans())
def test_half_a_surrogate_pair_is_refused(half: int, text: str, upper: bool) -> None:
    shown = f"\\u{half:04X}" if upper else f"\\u{half:04x}"
    quoted = f'{json.dumps(text)[:-1]}{shown}"'
    for data in (quoted, f"{{{quoted}: 1}}", f'{{"a": [{quoted}]}}'):
        with pytest.raises(Malformed, match="half a surrogate pair"):
            loads(data.encode())
    with pytest.raises(Malformed, match="not UTF-8"):
        loads(f'"{text.replace(chr(34), "").replace(chr(92), "")}'.encode() + b'\xed\xa0\x80"')


@few
@given(st.characters(min_codepoint=0x10000))
def test_a_whole_surrogate_pair_is_one_character(character: str) -> None:
    assert loads(json.dumps(character).encode()) == character


@pytest.mark.parametrize("bomb", ["[", '{"a":', '[{"a":[', '"' + "[" * 40 + '",[' * 40])
def test_depth_bombs_are_refused_before_they_are_parsed(bomb: str) -> None:
    for times in (MAX_DEPTH + 1, 20_000):
        with pytest.raises(Malformed, match=r"nested deeper|not JSON"):
            loads(bomb.encode() * times)
    deepest = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert json.dumps(loads(deepest)).encode() == deepest
    with pytest.raises(Malformed, match="nested deeper"):
        loads(b"[" + deepest + b"]")


def test_brackets_in_text_are_no_depth() -> None:
    text = '[{"\\' * 1000
    assert loads(json.dumps([text, {text: text}]).encode()) == [text, {text: text}]


def test_too_many_containers_and_too_many_bytes_are_refused() -> None:
    with pytest.raises(Malformed, match="lists and objects"):
        loads(b"[" + b"[]," * MAX_CONTAINERS + b"1]")
    with pytest.raises(Malformed, match="11 bytes, 10 are allowed"):
        loads(b'"123456789"', 10)
    assert loads(b'"12345678"', 10) == "12345678"


@dataclass(frozen=True)
class Inner:
    kind: Literal["a", "b", 1]
    pair: tuple[int, str]


@dataclass(frozen=True)
class Outer:
    count: Annotated[int, Between(0, 9)]
    share: float
    name: Annotated[str, AtMost(8)]
    flag: bool
    maybe: Inner | None
    several: tuple[Inner, ...]
    table: dict[str, int]
    anything: Any
    told: Annotated[str, Cut(5)] = "-"

    def __post_init__(self) -> None:
        if self.told == "never":
            raise ValueError("this is never\x1b[2J told")


INNER = st.builds(Inner, st.sampled_from(["a", "b", 1]), st.tuples(st.integers(-9, 9), TEXT))
OUTER = st.builds(
    Outer, st.integers(0, 9), FINITE, TEXT, st.booleans(), st.none() | INNER,
    st.lists(INNER, max_size=2).map(tuple), st.dictionaries(TEXT, st.integers(0, 9), max_size=2),
    JSON, st.sampled_from(["", "x", "12345"]),
)  # fmt: skip
NAMES = tuple(Outer.__dataclass_fields__)


@few
@given(OUTER)
def test_a_record_comes_back_as_it_was(made: Outer) -> None:
    assert read(Outer, json.dumps(asdict(made)).encode()) == made


@few
@given(OUTER, st.sampled_from(NAMES))
def test_a_missing_field_is_refused_unless_it_has_a_default(made: Outer, name: str) -> None:
    value = asdict(made)
    del value[name]
    data = json.dumps(value).encode()
    if name == "told":
        assert read(Outer, data).told == "-"
        return
    with pytest.raises(Malformed, match=f"it has no '{name}'"):
        read(Outer, data)


@few
@given(OUTER, TEXT.filter(lambda name: name not in NAMES), JSON)
def test_an_unknown_field_is_refused(made: Outer, name: str, value: Any) -> None:
    with pytest.raises(Malformed, match="an unknown field"):
        read(Outer, json.dumps({**asdict(made), name: value}).encode())


WRONG: dict[str, tuple[Any, ...]] = {
    "count": (True, 1.0, "1", None, -1, 10, [1], 10**30),
    "share": (True, "1", None, {}),
    "name": (1, None, ["a"], "123456789"),
    "flag": (0, 1, "true", None),
    "maybe": (0, "a", [], {}, {"kind": "c", "pair": [1, ""]}, {"kind": True, "pair": [1, ""]}),
    "several": ({}, "", None, [None], [{"kind": "a"}], [{"kind": "a", "pair": [1]}],
                [{"kind": "a", "pair": [1, "", 2]}], [{"kind": 1.0, "pair": [1, ""]}],
                [{"kind": "a", "pair": [1, ""], "more": 1}]),
    "table": ([], {"a": "1"}, {"a": True}, {"a": None}),
    "told": (None, 5, ["x"], "never"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in WRONG.items() for v in vs])
def test_a_field_of_a_wrong_kind_is_refused_and_named(name: str, value: Any) -> None:
    good = asdict(Outer(1, 1.0, "n", True, None, (), {}, None)) | {"several": []}
    with pytest.raises(Malformed) as caught:
        record(Outer, {**good, name: value})
    assert name in str(caught.value)
    assert "\x1b" not in str(caught.value)


@few
@given(JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, JSON)))
def test_a_record_of_any_value_is_a_record_or_malformed(value: Any) -> None:
    try:
        made = record(Outer, value)
    except Malformed as error:
        assert str(error).isprintable()
        return
    assert 0 <= made.count <= 9 and math.isfinite(made.share)


TYPES = st.sampled_from(
    [b"0", b"\0", b"7", b"1", b"2", b"3", b"5", b"6", b"S", b"x", b"g", b"L", b"K", b"X", b"\xff"]
)
MEMBER_NAMES = TEXT | st.sampled_from(
    ["good", "a/b", "/abs", "../up", ".hidden", "x" * 101, "./a", ".", "new\nline", "a\0b"]
)
FORMATS = st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])


def packed(members: list[tuple[str, bytes, bytes]], kind: int) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=kind) as archive:
        for name, data, flag in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = flag, "/etc/passwd", len(data)
            archive.addfile(info, io.BytesIO(data))
    return sink.getvalue()


TARS = st.builds(
    packed, st.lists(st.tuples(MEMBER_NAMES, st.binary(max_size=600), TYPES), max_size=4), FORMATS
)


def accepted(data: bytes, most: int = 500) -> dict[str, bytes]:
    """What the reader makes of it, after looking at it."""
    files, notes = read_archive(data, most)
    assert len(files) <= MAX_FILES
    for name, content in files.items():
        assert 0 < len(name) <= MAX_NAME
        assert "/" not in name and not name.startswith(".") and name.isprintable()
        assert len(content) <= most
    assert all(isinstance(note, str) for note in notes)
    return files


@few
@given(st.binary(max_size=2000))
def test_any_bytes_are_an_archive_or_a_note(data: bytes) -> None:
    accepted(data)


@few
@given(st.dictionaries(st.from_regex(r"[a-z][a-z.é]{0,90}", fullmatch=True), st.binary()), FORMATS)
def test_plain_files_come_back_as_they_were(files: dict[str, bytes], kind: int) -> None:
    members = [(name, data, tarfile.REGTYPE) for name, data in files.items()]
    assert accepted(packed(members, kind), 10_000) == files


@few
@given(TARS)
def test_only_regular_files_come_out(data: bytes) -> None:
    files = accepted(data)
    regular = set()
    with suppress(tarfile.TarError, ValueError), tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if member.isreg() and not member.issparse():
                regular.add(member.name.removeprefix("./"))
    assert set(files) <= regular


# What replaces bytes of a header: signs and bases of numbers, other kinds, other names.
PATCHES = st.binary(min_size=1, max_size=12) | st.sampled_from(
    [b"\xff" * 12, b"\x80" + b"\xff" * 11, b"\xff" * 11 + b"\0", b"7" * 11, b"-0000000001", b"x"]
)
PLACES = st.sampled_from([0, 100, 124, 148, 156, 157, 257, 263, 345, 386, 483]) | st.integers(
    0, 511
)


def summed(data: bytearray) -> None:
    """Make the checksum of every block right, as if it were a header."""
    for at in range(0, len(data) - 511, 512):
        block = data[at : at + 512]
        if any(block):
            block[148:156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(block)


@settings(max_examples=200, deadline=None)
@given(TARS, st.lists(st.tuples(st.integers(0, 9), PLACES, PATCHES), max_size=3), st.booleans())
def test_a_changed_archive_gives_nothing_that_is_not_allowed(
    data: bytes, changes: list[tuple[int, int, bytes]], right: bool
) -> None:
    changed = bytearray(data)
    for block, place, patch in changes:
        at = block * 512 + place
        changed[at : at + len(patch)] = patch
    if right:
        summed(changed)
    accepted(bytes(changed))


@few
@given(TARS, st.integers(0, 4000))
def test_a_cut_archive_gives_nothing_that_is_not_allowed(data: bytes, end: int) -> None:
    accepted(data[:end])


@pytest.mark.parametrize("size", [-512, -1024, -1])
def test_an_entry_of_negative_size_is_damage_and_no_endless_loop(size: int) -> None:
    data = bytearray(packed([("a", b"", b"0"), ("b", b"", b"0")], tarfile.GNU_FORMAT))
    data[124:136] = b"\xff" + (size % (1 << 88)).to_bytes(11, "big")
    summed(data)
    files, notes = read_archive(bytes(data), 500)
    assert "a" not in files
    assert notes and "damaged" in notes[-1]


@pytest.mark.parametrize("flag", [b"x", b"L", b"g"])
def test_headers_that_only_lead_to_headers_are_damage(flag: bytes) -> None:
    data = packed([("a", b"", flag)] * 5000 + [("b", b"", b"0")], tarfile.USTAR_FORMAT)
    accepted(data)
