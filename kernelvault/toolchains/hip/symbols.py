"""Reads a shared library's dynamic symbols from `llvm-readelf --dyn-syms`."""

from __future__ import annotations

import re

_ASSEMBLY = re.compile(r'^module asm "|\basm (?:\w+ )*"', re.MULTILINE)
_SECTION = re.compile(
    r'^@[^\n]*?, section "([^"]*)"|^define[^\n]*? section "([^"]*)"', re.MULTILINE
)
_OWN_SECTIONS = frozenset({".hip_fatbin", ".hipFatBinSegment", "llvm.metadata"})


def dynamic_symbols(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(undefined, exported), each sorted and without versions."""
    undefined: set[str] = set()
    exported: set[str] = set()
    for line in text.splitlines():
        fields = line.split()
        # Num: Value Size Type Bind Vis Ndx Name
        if len(fields) < 8 or not fields[0].removesuffix(":").isdigit():
            continue
        name = fields[7].split("@")[0]
        if fields[6] == "UND":
            undefined.add(name)
        elif fields[4] in ("GLOBAL", "WEAK") and fields[5] in ("DEFAULT", "PROTECTED"):
            exported.add(name)
    return tuple(sorted(undefined)), tuple(sorted(exported))


def host_hazards(ir: str) -> tuple[str, ...]:
    """What LLVM's textual form of a host half holds that no symbol shows, sorted.

    Inline assembly can make system calls of its own, whatever macro spelled it; data in a section
    of its choice can be code. Quotes inside string constants are escaped there, so no text of the
    candidate can look like either.
    """
    found = {"inline assembly"} if _ASSEMBLY.search(ir) else set()
    for pair in _SECTION.findall(ir):
        name = pair[0] or pair[1]
        if name not in _OWN_SECTIONS:
            found.add(f"a section of its own, {name!r}")
    return tuple(sorted(found))
