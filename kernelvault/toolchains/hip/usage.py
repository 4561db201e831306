"""Reads a kernel's static resource usage from the compiler's remarks and the code object."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from kernelvault.spec.verification import KernelUsage

_REMARK = re.compile(r"^[^\s:]+:\d+:\d+: remark: +([^:]+): (\S+)", re.MULTILINE)
_FIELD = re.compile(r"^(  - |    )\.(\w+): +(\S+)$")
_SYMBOL = re.compile(r"^(?:[0-9a-f]+ )?<(.+)>:$")
_INSTRUCTION = re.compile(r"^\s+([a-z]\w+)(?:\s|$)")
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


def kernel_usage(remarks: str, notes: str, assembly: str) -> tuple[KernelUsage, ...]:
    """Usage of every kernel, by name.

    remarks: stderr with `-Rpass-analysis=kernel-resource-usage`; notes: `llvm-readelf --notes`;
    assembly: `llvm-objdump -d`. Registers, spills and bytes come from the code object itself.
    """
    occupancy = _occupancy(remarks)
    code = _instructions(assembly)
    found = []
    for fields in _metadata(notes):
        name = fields["name"]
        counts = code.get(name, Counter())
        found.append(
            KernelUsage(
                name=name,
                # The code object counts both files together; the accumulation part is `agpr`.
                vgpr=int(fields["vgpr_count"]),
                sgpr=int(fields["sgpr_count"]),
                agpr=int(fields.get("agpr_count", "0")),
                vgpr_spills=int(fields["vgpr_spill_count"]),
                sgpr_spills=int(fields["sgpr_spill_count"]),
                scratch_bytes=int(fields["private_segment_fixed_size"]),
                lds_bytes=int(fields["group_segment_fixed_size"]),
                occupancy=occupancy.get(name, 0),
                instructions=counts.total(),
                mfma=sum(n for op, n in counts.items() if _MFMA.match(op)),
                isa=_isa(counts),
            )
        )
    return tuple(sorted(found, key=lambda usage: usage.name))


def _occupancy(remarks: str) -> dict[str, int]:
    """Kernel -> waves per SIMD that its static resources allow."""
    found: dict[str, int] = {}
    name = ""
    for key, value in _REMARK.findall(remarks):
        if key == "Function Name":
            name = value
        elif key.startswith("Occupancy") and value.isdigit():
            found[name] = int(value)
    return found


def _metadata(notes: str) -> list[dict[str, str]]:
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


def _instructions(assembly: str) -> dict[str, Counter[str]]:
    """Symbol -> how often each instruction occurs in it."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in assembly.splitlines():
        if match := _SYMBOL.match(line):
            current = found.setdefault(match[1], [])
        elif match := _INSTRUCTION.match(line):
            current.append(match[1])
    return {name: Counter(_without_padding(ops)) for name, ops in found.items()}


def _without_padding(ops: list[str]) -> list[str]:
    """Functions are padded for the instruction prefetcher after their last instruction."""
    end = len(ops)
    while end and ops[end - 1] in ("s_nop", "s_code_end"):
        end -= 1
    return ops[:end]


def _isa(counts: Counter[str]) -> dict[str, Any]:
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
