"""Compiler messages, mapped to the user's file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from kernelvault.spec.strict import printable
from kernelvault.toolchains.contract import Diagnostic

LIMIT = 20
MAX_MESSAGE = 400
_MESSAGE = re.compile(
    r"(?P<file>[^\s:][^:\n]*):(?P<line>[0-9]{1,9}):(?P<column>[0-9]{1,9}): "
    r"(?P<severity>fatal error|error|warning|note|remark): (?P<text>.*)"
)
_BARE = re.compile(r"(?:ld\.lld: |lld: |clang: )?(?P<severity>fatal error|error): (?P<text>.*)")
_INCLUDED = re.compile(
    r"(?:In file included from|\s+from) (?P<file>[^:\n]+):(?P<line>[0-9]{1,9})[:,]"
)
_OPTION = re.compile(r" \[-W[^\]]*\]$")
_SEVERITY_ORDER = ("error", "warning", "note")


@dataclass(slots=True)
class _Group:
    """One error or warning and the lines that explain where it comes from."""

    severity: str
    file: str
    line: int
    column: int
    text: str
    included_at: int
    notes: list[tuple[str, int, int, str]] = field(default_factory=list)


def parse(text: str, source: str) -> tuple[Diagnostic, ...]:
    """At most `LIMIT` diagnostics of `text`, errors first; `source` names the user's file.

    A message inside a header moves to the user's line that led there: the template instantiation,
    the macro, or the include.
    """
    found = [item for group in _groups(text, source) for item in _located(group, source)]
    unique = list(dict.fromkeys(found))
    unique.sort(key=lambda item: _SEVERITY_ORDER.index(item.severity))
    return tuple(unique[:LIMIT])


def first_error(diagnostics: Iterable[Diagnostic], fallback: str) -> tuple[Diagnostic, ...]:
    """The diagnostics, with `fallback` in front when none of them is an error."""
    items = tuple(diagnostics)
    if any(item.severity == "error" for item in items):
        return items
    return (Diagnostic("error", 0, 0, fallback[:MAX_MESSAGE]), *items)[:LIMIT]


def _groups(text: str, source: str) -> Iterator[_Group]:
    current: _Group | None = None
    included_at = 0
    for line in text.splitlines():
        if match := _MESSAGE.match(line):
            severity = match["severity"].removeprefix("fatal ")
            place = (match["file"], int(match["line"]), int(match["column"]))
            if severity == "note":
                if current is not None:
                    current.notes.append((*place, match["text"]))
                continue
            if current is not None:
                yield current
            current = None
            if severity != "remark":
                current = _Group(severity, *place, match["text"], included_at)
            included_at = 0
        elif match := _INCLUDED.match(line):
            if match["file"] == source:
                included_at = int(match["line"])
        elif match := _BARE.match(line):
            if current is not None:
                yield current
            current = _Group("error", "", 0, 0, match["text"], 0)
    if current is not None:
        yield current


def _located(group: _Group, source: str) -> Iterator[Diagnostic]:
    text = _OPTION.sub("", group.text)
    if group.file in ("", source):
        yield _diagnostic(group.severity, group.line, group.column, text)
        for file, line, column, note in group.notes:
            if file == source:
                yield _diagnostic("note", line, column, note)
        return
    text = f"{text} (in {PurePosixPath(group.file).name})"
    for file, line, column, _ in group.notes:
        if file == source:
            yield _diagnostic(group.severity, line, column, text)
            return
    if group.severity == "error" or group.included_at:
        yield _diagnostic(group.severity, group.included_at, 0, text)


def _diagnostic(severity: str, line: int, column: int, text: str) -> Diagnostic:
    return Diagnostic(severity, line, column, printable(text[:MAX_MESSAGE]))
