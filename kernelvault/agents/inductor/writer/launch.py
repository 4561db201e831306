"""Chooses block sizes for a kernel and writes its launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelvault.agents.inductor.variants import Variant
from kernelvault.agents.inductor.writer.errors import UnsupportedError
from kernelvault.agents.inductor.writer.kernels import Kernel

_MAX_GRID = 65535  # of the y and z dimensions
_MAX_ROWS = 64
_TILE = 4  # a reduction's block in pointwise blocks


@dataclass(frozen=True)
class LaunchText:
    """Lines before a launch, its grid, and its block sizes by name."""

    before: tuple[str, ...]
    grid: str
    blocks: tuple[tuple[str, str], ...]


def plan(
    kernel: Kernel, numels: Mapping[str, str], fixed: tuple[str, ...], v: Variant
) -> LaunchText:
    """How to launch `kernel`: `numels` maps `xnumel`, `r0_numel`, ... to Python text."""
    if kernel.grid == "FixedGrid":
        flat = fixed[1:] == ("1", "1")
        return LaunchText((), f"({fixed[0]},)" if flat else f"({', '.join(fixed)})", ())
    before: list[str] = []
    if kernel.kind == "pointwise":
        sizes = _pointwise(kernel, numels, v)
    elif kernel.kind == "reduction":
        sizes = _looped(kernel, numels, v)
    else:
        sizes = _persistent(kernel, numels, v, before)
    unknown = set(kernel.blocks) - set(sizes)
    if unknown:
        raise UnsupportedError(f"a kernel with the blocks {sorted(unknown)}")
    grid = _grid(kernel, numels, sizes, before)
    blocks = tuple((name, sizes[name]) for name in kernel.blocks)
    return LaunchText(tuple(before), grid, blocks)


def _fit(size: int, numel: str) -> int:
    """`size`, or the power of two that holds `numel` where that is known and smaller."""
    return min(size, 1 << (int(numel) - 1).bit_length()) if numel.isdigit() else size


def _pointwise(kernel: Kernel, numels: Mapping[str, str], v: Variant) -> dict[str, str]:
    if "YBLOCK" not in kernel.blocks:
        return {"XBLOCK": str(_fit(v.elements, numels["xnumel"]))}
    bits = v.elements.bit_length() - 1
    y = _fit(1 << (bits // 2), numels["ynumel"])
    x = _fit(v.elements // y, numels["xnumel"])
    return {"XBLOCK": str(x), "YBLOCK": str(y)}


def _looped(kernel: Kernel, numels: Mapping[str, str], v: Variant) -> dict[str, str]:
    if numels["xnumel"] == "1":
        return {"XBLOCK": "1", "R0_BLOCK": str(_fit(2 * v.row, numels["r0_numel"]))}
    if not kernel.inner:
        x = _fit(_MAX_ROWS, numels["xnumel"])
        return {
            "XBLOCK": str(x),
            "R0_BLOCK": str(_fit(_TILE * v.elements // x, numels["r0_numel"])),
        }
    row = _fit(v.row, numels["r0_numel"])
    x = _fit(min(_MAX_ROWS, _TILE * v.elements // row), numels["xnumel"])
    return {"XBLOCK": str(x), "R0_BLOCK": str(row)}


def _persistent(
    kernel: Kernel, numels: Mapping[str, str], v: Variant, before: list[str]
) -> dict[str, str]:
    x, length, most = numels["xnumel"], numels["r0_numel"], _TILE * v.elements
    if length.isdigit():
        row = 1 << (int(length) - 1).bit_length()
        return {"XBLOCK": str(_fit(min(_MAX_ROWS, max(1, most // row)), x)), "R0_BLOCK": str(row)}
    before.append(f"R0_BLOCK = triton.next_power_of_2({length})")
    if x == "1":
        return {"XBLOCK": "1", "R0_BLOCK": "R0_BLOCK"}
    before.append(f"XBLOCK = min({_fit(_MAX_ROWS, x)}, max(1, {most} // R0_BLOCK))")
    return {"XBLOCK": "XBLOCK", "R0_BLOCK": "R0_BLOCK"}


def _grid(
    kernel: Kernel, numels: Mapping[str, str], sizes: Mapping[str, str], before: list[str]
) -> str:
    across = _blocks(numels["xnumel"], sizes["XBLOCK"])
    if kernel.grid == "Grid1D":
        return f"({across},)"
    down = _blocks(numels["ynumel"], sizes["YBLOCK"])
    if kernel.grid == "Grid2D":
        return f"({across}, {down})"
    before.append(f"y_blocks = {down}")
    before.append(f"z_blocks = triton.cdiv(y_blocks, {_MAX_GRID})")
    return f"({across}, triton.cdiv(y_blocks, z_blocks), z_blocks)"


def _blocks(numel: str, block: str) -> str:
    if numel.isdigit() and block.isdigit():
        return str(-(-int(numel) // int(block)))
    return numel if block == "1" else f"triton.cdiv({numel}, {block})"
