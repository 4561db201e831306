"""Reads a shared library's dynamic symbols from `llvm-readelf --dyn-syms`."""

from __future__ import annotations


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
