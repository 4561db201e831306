"""AMD GPU code objects as text: metadata fields of kernels and instruction counts by kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

_FIELD = re.compile(r"^(  - |    )\.(\w+): +(\S+)$")
_MEMORY = re.compile(r"(?:global|buffer|flat)_(load|store)_(\w+?)(?:_d16)?(?:_hi)?$")
_MFMA = re.compile(r"v_s?mfmac?_")

_GROUPS = {
    "lds_reads": re.compile(r"ds_(?:read|load)"),
    "lds_writes": re.compile(r"ds_(?:write|store)"),
    "atomics": re.compile(r"(?:global|buffer|flat)_atomic|ds_(?:add|min|max|cmpst|wrxchg|inc|dec)"),
    "barriers": re.compile(r"s_barrier"),
    "waits": re.compile(r"s_wait"),
    "dpp": re.compile(r"v_\w+_dpp$"),
    "valu": re.compile(r"v_(?!s?mfmac?_)"),
    "salu": re.compile(r"s_(?!wait|barrier|nop|endpgm)"),
    "trans": re.compile(r"v_(?:exp|log|rcp|rsq|sqrt|sin|cos)_"),
}


def kernel_metadata(notes: str) -> list[dict[str, str]]:
    """The scalar fields of each entry of `amdhsa.kernels`."""
    kernels: list[dict[str, str]] = []
    inside = False
    for line in notes.splitlines():
        if line.startswith("amdhsa."):
            inside = line.startswith("amdhsa.kernels:")
        elif inside and line.startswith("  - "):
            kernels.append({})
        if inside and kernels and (match := _FIELD.match(line)):
            kernels[-1][match[2]] = match[3].strip("'\"")
    return [fields for fields in kernels if "name" in fields]


def metadata_number(fields: Mapping[str, str], name: str, default: str = "") -> int:
    """A count of a kernel's metadata; raises ValueError when it is missing, none or out of range.

    The text comes from a sandbox, so nothing is taken for granted.
    """
    text = fields.get(name, default)
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(f"the kernel metadata's {name} is {text[:40]!r}")
    return int(text)


def without_padding(ops: Sequence[str]) -> Sequence[str]:
    """Functions are padded for the instruction prefetcher after their last instruction."""
    end = len(ops)
    while end and ops[end - 1] in ("s_nop", "s_code_end"):
        end -= 1
    return ops[:end]


def mfma_count(counts: Counter[str]) -> int:
    """How many matrix instructions there are."""
    return sum(n for op, n in counts.items() if _MFMA.match(op))


def instruction_kinds(counts: Counter[str]) -> dict[str, Any]:
    """Counts by kind, memory accesses by width, matrix instructions by name."""
    widths: dict[str, Counter[str]] = {"load": Counter(), "store": Counter()}
    for op, n in counts.items():
        if match := _MEMORY.match(op):
            widths[match[1]][match[2]] += n
    groups = {
        name: sum(n for op, n in counts.items() if pattern.match(op))
        for name, pattern in _GROUPS.items()
    }
    return {
        "mfma_kinds": dict(sorted((op, n) for op, n in counts.items() if _MFMA.match(op))),
        "global_load": dict(sorted(widths["load"].items())),
        "global_store": dict(sorted(widths["store"].items())),
        **groups,
    }
