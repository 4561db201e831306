"""Kernels without reductions: one result an index, in three shapes of the same loop."""

from __future__ import annotations

from kernelvault.agents.template import ctypes
from kernelvault.agents.template.dims import product
from kernelvault.agents.template.emit import Emitter
from kernelvault.agents.template.kernel import (
    Destination,
    Kernel,
    ceil_div,
    header,
    indent,
    loads,
    pointers,
)
from kernelvault.agents.template.schedules import PointwiseSchedule

_FIRST = "blockIdx.x * (int64_t)blockDim.x + threadIdx.x"


def pointwise_kernel(
    name: str, destination: Destination, symbols: tuple[str, ...], schedule: PointwiseSchedule
) -> Kernel:
    """A kernel that evaluates the destination's value at every index."""
    n = product(destination.value.shape)
    body = _BODIES[schedule.structure](destination, n, schedule)
    source = f"{header(name, schedule.block, destination, symbols)}\n{body}\n}}"
    per_block = schedule.block * schedule.per_thread
    limit = "kv_capped" if schedule.structure == "grid_stride" else "(unsigned)"
    grid = f"{limit}({ceil_div(n, per_block)})"
    return Kernel(name, source, (grid, "1", "1"), (schedule.block, 1), pointers(destination))


def _element(destination: Destination, packed: dict[str, str] | None = None) -> tuple[str, str]:
    """(statements, stored expression) of the result at flat index `e`."""
    emitter = Emitter({}, "t", packed)
    value = destination.value
    name = emitter.value(value, emitter.unravel("e", value.shape))
    stored = ctypes.store(value.dtype, name)
    return "\n".join(emitter.statements((stored,))), stored


def _flat(destination: Destination, n: str, schedule: PointwiseSchedule) -> str:
    """One work-item an element."""
    statements, stored = _element(destination)
    lines = [f"const int64_t e = {_FIRST};", f"if (e >= {n}) return;", *statements.split("\n")]
    return indent([*lines, f"{destination.name}[e] = {stored};"], 1)


def _grid_stride(destination: Destination, n: str, schedule: PointwiseSchedule) -> str:
    """A fixed number of work-items walks over all elements."""
    statements, stored = _element(destination)
    step = "(int64_t)gridDim.x * blockDim.x"
    loop = f"for (int64_t e = {_FIRST}; e < {n}; e += {step}) {{"
    inner = indent([*statements.split("\n"), f"{destination.name}[e] = {stored};"], 2)
    return f"  {loop}\n{inner}\n  }}"


def _vector(destination: Destination, n: str, schedule: PointwiseSchedule) -> str:
    """Aligned packs of elements: tensors begin at 256-byte boundaries (see kernelvault/abi.h)."""
    width, value = schedule.per_thread, destination.value
    direct = [load for load in loads(value) if load.shape == value.shape]
    packed = {load.name: f"pack_{load.name}.v[j]" for load in direct}
    lines = [f"const int64_t base = ({_FIRST}) * {width};", f"if (base + {width} <= {n}) {{"]
    for load in direct:
        pack = f"KvPack<{ctypes.storage(load.dtype)}, {width}>"
        lines.append(
            f"  const {pack} pack_{load.name} ="
            f" *reinterpret_cast<const {pack}*>({load.name} + base);"
        )
    pack = f"KvPack<{ctypes.storage(value.dtype)}, {width}>"
    statements, stored = _element(destination, packed)
    index = ["    const int64_t e = base + j;"] if _uses_index(statements) else []
    lines += [
        f"  {pack} result;",
        "#pragma unroll",
        f"  for (int j = 0; j < {width}; ++j) {{",
        *index,
        *(f"    {line}" for line in statements.split("\n")),
        f"    result.v[j] = {stored};",
        "  }",
        f"  *reinterpret_cast<{pack}*>({destination.name} + base) = result;",
        "} else {",
        f"  for (int64_t e = base; e < {n}; ++e) {{",
    ]
    statements, stored = _element(destination)
    lines += [
        *(f"    {line}" for line in statements.split("\n")),
        f"    {destination.name}[e] = {stored};",
        "  }",
        "}",
    ]
    return indent(lines, 1).replace("  #pragma", "#pragma")


def _uses_index(statements: str) -> bool:
    words = statements.replace("[", " ").replace("]", " ").replace("(", " ").split()
    return "e" in words


_BODIES = {"flat": _flat, "grid_stride": _grid_stride, "vector": _vector}
