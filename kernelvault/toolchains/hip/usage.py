"""Reads a kernel's static resource usage from the compiler's remarks and the code object."""

from __future__ import annotations

import re
from collections import Counter

from kernelvault.spec.verification import KernelUsage
from kernelvault.toolchains.isa import (
    instruction_kinds,
    kernel_metadata,
    metadata_number,
    mfma_count,
    without_padding,
)

_REMARK = re.compile(r"^[^\s:]+:\d+:\d+: remark: +([^:]+): (\S+)", re.MULTILINE)
_SYMBOL = re.compile(r"^(?:[0-9a-f]+ )?<(.+)>:$")
_INSTRUCTION = re.compile(r"^\s+([a-z]\w+)(?:\s|$)")


def kernel_usage(remarks: str, notes: str, assembly: str) -> tuple[KernelUsage, ...]:
    """Usage of every kernel, by name.

    remarks: stderr with `-Rpass-analysis=kernel-resource-usage`; notes: `llvm-readelf --notes`;
    assembly: `llvm-objdump -d`. Registers, spills and bytes come from the code object itself.
    """
    occupancy = _occupancy(remarks)
    code = _instructions(assembly)
    found = []
    for fields in kernel_metadata(notes):
        name = fields["name"]
        counts = code.get(name, Counter())
        found.append(
            KernelUsage(
                name=name,
                # The code object counts both files together; the accumulation part is `agpr`.
                vgpr=metadata_number(fields, "vgpr_count"),
                sgpr=metadata_number(fields, "sgpr_count"),
                agpr=metadata_number(fields, "agpr_count", "0"),
                vgpr_spills=metadata_number(fields, "vgpr_spill_count"),
                sgpr_spills=metadata_number(fields, "sgpr_spill_count"),
                scratch_bytes=metadata_number(fields, "private_segment_fixed_size"),
                lds_bytes=metadata_number(fields, "group_segment_fixed_size"),
                occupancy=occupancy.get(name, 0),
                instructions=counts.total(),
                mfma=mfma_count(counts),
                isa=instruction_kinds(counts),
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
        elif key.startswith("Occupancy") and re.fullmatch(r"[0-9]{1,4}", value):
            found[name] = int(value)
    return found


def _instructions(assembly: str) -> dict[str, Counter[str]]:
    """Symbol -> how often each instruction occurs in it."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in assembly.splitlines():
        if match := _SYMBOL.match(line):
            current = found.setdefault(match[1], [])
        elif match := _INSTRUCTION.match(line):
            current.append(match[1])
    return {name: Counter(without_padding(ops)) for name, ops in found.items()}
