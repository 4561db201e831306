"""Preprocessor directives as the compiler sees them: lines spliced, comments gone, digraphs known.

A parser made for editors misses `%:include`, a directive split over lines, or one that begins with
a comment, so directives are read here by the translation phases of the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SPLICE = re.compile(r"\\[ \t\f\v]*$")
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    | (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | \.?\d(?:[eEpP][+-]|'\w|[\w.])*
    | [A-Za-z_]\w*
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"\s*(?:\#|%:|\?\?=)\s*([A-Za-z_]\w*)(.*)", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_CONDITIONS = frozenset("if ifdef ifndef elif elifdef elifndef".split())
_FILE_READERS = frozenset("include include_next import embed __include_macros".split())
_LINE = "\x01"  # stands for a newline that ends no logical line

# Names that mean the same in the emulated build and in the build for a GPU.
_NEUTRAL = frozenset(
    """__cplusplus __clang__ __HIP__ __HIPCC__ __HIP_PLATFORM_AMD__ __HIP_DEVICE_COMPILE__
    __has_builtin __has_attribute __has_cpp_attribute""".split()
)
# A name that tells one build from another is refused wherever it stands: a macro could carry it
# into a condition.
_TELLS_BUILDS_APART = re.compile(
    r"""__gfx\w+ | __GFX\w+ | __AMD(GCN|GPU)?__ | __amdgcn_(processor|target_id|feature)\w*
    | __(x86_64|amd64|i[3-6]86)(__)? | __(SSE|AVX|MMX|FMA|F16C)\w* | __has_(include|embed)\w*""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a directive or name is refused: `rule` is include or build_conditional."""

    rule: str
    line: int
    message: str


def refused(source: str, allowed_includes: frozenset[str]) -> Iterator[Refused]:
    """What of `source` reads a file off the list or could differ between two builds of it."""
    number = 1
    for logical in _without_comments(_spliced(source)).split("\n"):
        text = logical.replace(_LINE, "")
        directive = _DIRECTIVE.match(text)
        name, rest = directive.groups() if directive else ("", "")
        if name in _FILE_READERS:
            target = rest.strip()
            if name != "include" or target.strip('<>"') not in allowed_includes:
                yield Refused("include", number, f"a candidate may not {name} {target}")
        for word in sorted(_telling_words(text, name, rest)):
            message = f"{word} tells builds apart, so the code that was run may not be what ships"
            yield Refused("build_conditional", number, message)
        number += 1 + logical.count(_LINE)


def _telling_words(text: str, name: str, rest: str) -> set[str]:
    words = {w for w in _identifiers(text) if _TELLS_BUILDS_APART.fullmatch(w)}
    if name in _CONDITIONS:
        reserved = {w for w in _identifiers(rest) if re.match(r"_[_A-Z]", w)}
        words |= reserved - _NEUTRAL
    return words


def _identifiers(text: str) -> Iterator[str]:
    for token in _TOKEN.finditer(text):
        if _IDENTIFIER.fullmatch(token[0]):
            yield token[0]


def _spliced(source: str) -> str:
    lines, open_line, held = [], "", 0
    for line in re.split(r"\r\n|\n|\r", source):
        if _SPLICE.search(line):
            open_line += _SPLICE.sub("", line)
            held += 1
        else:
            lines.append(open_line + line + _LINE * held)
            open_line, held = "", 0
    return "\n".join([*lines, open_line] if open_line else lines)


def _without_comments(text: str) -> str:
    def replace(token: re.Match[str]) -> str:
        if token["comment"] is None:
            return token[0].replace("\n", _LINE)
        return " " + _LINE * (token[0].count("\n") + token[0].count(_LINE))

    return _TOKEN.sub(replace, text)
