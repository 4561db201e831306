"""Reads a Triton kernel's static resource usage from its assembly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kernelvault.spec.verification import KernelUsage
from kernelvault.toolchains.isa import (
    instruction_kinds,
    kernel_metadata,
    metadata_number,
    mfma_count,
    without_padding,
)

_INSTRUCTION = re.compile(r"^\t((?:v|s|ds|global|buffer|flat|scratch)_\w+)(?:\s|$)")
# CDNA: 512 vector registers a lane and SIMD in steps of 8, 8 waves a SIMD, 4 SIMDs a compute unit.
_REGISTERS, _STEP, _MAX_WAVES, _SIMDS = 512, 8, 8, 4
# LDS bytes of a compute unit, and the step in which they are given out.
_LDS = {"gfx90a": (65536, 512), "gfx942": (65536, 512), "gfx950": (163840, 1280)}


def kernel_usage(
    label: str, target: str, assembly: str, compiled: Mapping[str, Any]
) -> KernelUsage:
    """Usage of the one kernel in `assembly`, called `label`.

    `compiled` has `num_warps`, `num_stages`, `lds_bytes` (LDS is given at launch, so the code
    object does not say it) and `options`. Raises ValueError when the text holds no kernel.
    """
    found = kernel_metadata(assembly)
    if not found:
        raise ValueError(f"the assembly of {label} has no kernel metadata")
    fields = found[0]
    ops = [match[1] for line in assembly.splitlines() if (match := _INSTRUCTION.match(line))]
    counts = Counter(without_padding(ops))
    vgpr, lds = metadata_number(fields, "vgpr_count"), int(compiled["lds_bytes"])
    warps = int(compiled["num_warps"])
    return KernelUsage(
        name=label,
        vgpr=vgpr,
        sgpr=metadata_number(fields, "sgpr_count"),
        agpr=metadata_number(fields, "agpr_count", "0"),
        vgpr_spills=metadata_number(fields, "vgpr_spill_count"),
        sgpr_spills=metadata_number(fields, "sgpr_spill_count"),
        scratch_bytes=metadata_number(fields, "private_segment_fixed_size"),
        lds_bytes=lds,
        occupancy=occupancy(target, vgpr, lds, warps),
        instructions=counts.total(),
        mfma=mfma_count(counts),
        isa={
            **instruction_kinds(counts),
            "num_warps": warps,
            "num_stages": int(compiled["num_stages"]),
            **{str(key): value for key, value in compiled["options"].items()},
        },
    )


def occupancy(target: str, vgpr: int, lds_bytes: int, num_warps: int) -> int:
    """Waves per SIMD that registers and LDS allow, rounded down; whole workgroups only.

    `vgpr` counts accumulation registers too, as the code object does.
    """
    by_registers = min(_MAX_WAVES, _REGISTERS // max(_STEP, -(-vgpr // _STEP) * _STEP))
    capacity, step = _LDS[target]
    groups = by_registers * _SIMDS // num_warps
    if lds_bytes:
        groups = min(groups, capacity // (-(-lds_bytes // step) * step))
    return groups * num_warps // _SIMDS
