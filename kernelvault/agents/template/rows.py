"""Kernels with reductions: everything that shares one row of one reduction domain, in one kernel.

A row is an index into the dimensions that the reductions keep. The kernel makes one pass over the
row for each reduction, in dependency order, then one that stores; values between passes are
recomputed from memory, which caches serve.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelvault.agents.template import ctypes
from kernelvault.agents.template.dims import Shape, product
from kernelvault.agents.template.emit import (
    Bindings,
    Coords,
    Emitter,
    NeedsBufferError,
    same_size,
)
from kernelvault.agents.template.ir import Reduce, Value, walk
from kernelvault.agents.template.kernel import (
    Destination,
    Kernel,
    ceil_div,
    header,
    indent,
    pointers,
)
from kernelvault.agents.template.schedules import RowSchedule

_START = {"sum": "0", "max": "-INFINITY", "min": "INFINITY"}
_STEP = {"sum": "{0} + {1}", "max": "kv_max({0}, {1})", "min": "kv_min({0}, {1})"}


def row_kernel(
    name: str, destination: Destination, symbols: tuple[str, ...], schedule: RowSchedule
) -> Kernel:
    """A fused row kernel. Raises NeedsBufferError for a reduction that does not fit the row."""
    plan = _plan(destination.value)
    rows = product(plan.outer)
    lines = [
        f"const int64_t rows = {rows}, inner = {product(plan.primary.inner) or '1'};",
        *_loop_head(schedule),
        *(f"  {line}" for line in _passes(plan, destination, schedule)),
        "}",
    ]
    source = f"{header(name, schedule.block, destination, symbols)}\n{indent(lines, 1)}\n}}"
    grid = f"kv_capped({ceil_div(rows, schedule.rows_per_block)})"
    return Kernel(
        name,
        source,
        (grid, "1", "1"),
        (schedule.block, 1),
        pointers(destination),
        wave64_only=schedule.structure in ("block_wave", "wave_per_row"),
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The reduction that gives the row its shape, all reductions in order, and what is stored:
    `elements` of the row's domain, or one result a row."""

    primary: Reduce
    reductions: tuple[Reduce, ...]
    outer: Shape
    elements: bool


def _plan(value: Value) -> _Plan:
    reductions = tuple(node for node in walk(value) if isinstance(node, Reduce))
    primary = reductions[-1]
    for other in reductions:
        if other.shape != primary.shape or other.inner != primary.inner:
            raise NeedsBufferError(other)
    if same_size(value.shape, primary.shape):
        elements = False
    elif same_size(value.shape, primary.arg.shape):
        elements = True
    else:
        raise NeedsBufferError(primary)
    if elements and value.shape != primary.arg.shape and not _trailing(primary):
        raise NeedsBufferError(primary)
    return _Plan(primary, reductions, primary.shape, elements)


def _trailing(reduce: Reduce) -> bool:
    rank = len(reduce.arg.shape)
    return reduce.dims == tuple(range(rank - len(reduce.dims), rank))


def _loop_head(schedule: RowSchedule) -> list[str]:
    if schedule.structure == "thread_per_row":
        first = "blockIdx.x * (int64_t)blockDim.x + threadIdx.x"
        step = "(int64_t)gridDim.x * blockDim.x"
        lane = "const int lane = 0, lanes = 1;"
    elif schedule.structure == "wave_per_row":
        per_block = schedule.rows_per_block
        first = f"blockIdx.x * (int64_t){per_block} + threadIdx.x / 64"
        step = f"(int64_t)gridDim.x * {per_block}"
        lane = "const int lane = threadIdx.x % 64, lanes = 64;"
    else:
        first, step = "blockIdx.x", "gridDim.x"
        lane = f"const int lane = threadIdx.x, lanes = {schedule.block};"
    return [lane, f"for (int64_t row = {first}; row < rows; row += {step}) {{"]


def _passes(plan: _Plan, destination: Destination, schedule: RowSchedule) -> list[str]:
    bound: Bindings = {}
    head = Emitter(bound, "i")
    outer = head.unravel("row", plan.outer)
    body: list[str] = []
    for number, reduction in enumerate(plan.reductions):
        body += _reduction_pass(reduction, outer, bound, f"r{number}", schedule)
        bound[id(reduction), outer.index] = f"r{number}"
    body += _store_pass(plan, destination, outer, bound)
    return [*head.statements(tuple(body)), *body]


def _inner_coords(reduction: Reduce, outer: Coords, emitter: Emitter) -> Coords:
    """Coordinates of element k of the row in the reduction's argument."""
    inner = iter(emitter.unravel("k", reduction.inner).index)
    kept = iter(outer.index)
    index = tuple(
        next(inner) if d in reduction.dims else next(kept) for d in range(len(reduction.arg.shape))
    )
    flat = "e" if _trailing(reduction) else None
    return Coords(index, reduction.arg.shape, flat)


def _reduction_pass(
    reduction: Reduce, outer: Coords, bound: Bindings, name: str, schedule: RowSchedule
) -> list[str]:
    kind = ctypes.compute(reduction.dtype)
    emitter = Emitter(bound, "t")
    item = emitter.value(reduction.arg, _inner_coords(reduction, outer, emitter))
    step = f"{name} = {_STEP[reduction.kind].format(name, item)};"
    statements = emitter.statements((step,))
    combine = {
        "thread_per_row": None,
        "wave_per_row": f"kv_wave_{reduction.kind}({name})",
        "block_wave": f"kv_block_{reduction.kind}<{schedule.block}>({name})",
        "block_lds": f"kv_tree_{reduction.kind}<{schedule.block}>({name})",
    }[schedule.structure]
    return [
        f"{kind} {name} = {_START[reduction.kind]};",
        "for (int64_t k = lane; k < inner; k += lanes) {",
        *_element_index([*statements, step]),
        *(f"  {line}" for line in [*statements, step]),
        "}",
        *([f"{name} = {combine};"] if combine else []),
    ]


def _element_index(lines: list[str]) -> list[str]:
    """The row-major index of element k, where something uses it."""
    uses = any("[e]" in line or " e " in line or "e;" in line.split(" ")[-1:] for line in lines)
    return ["  const int64_t e = row * inner + k;"] if uses else []


def _store_pass(plan: _Plan, destination: Destination, outer: Coords, bound: Bindings) -> list[str]:
    value, emitter = destination.value, Emitter(bound, "t")
    if not plan.elements:
        where = emitter.unravel("row", value.shape, outer)
        # The row's coordinates have their names already; the result's are the same ones.
        if same_size(value.shape, plan.outer):
            waiting = iter([i for i, s in zip(outer.index, plan.outer, strict=True) if s != "1"])
            index = tuple("0" if size == "1" else next(waiting) for size in value.shape)
            where = Coords(index, value.shape, "row", outer)
        stored = (
            f"{destination.name}[row] = {ctypes.store(value.dtype, emitter.value(value, where))};"
        )
        return [*emitter.statements((stored,)), f"if (lane == 0) {stored}"]
    inner = _inner_coords(plan.primary, outer, emitter)
    if value.shape == plan.primary.arg.shape:
        where = inner
    else:
        where = emitter.unravel("e", value.shape, inner)
    name = emitter.value(value, where)
    target = "e" if where.flat == "e" else emitter.flat(where)
    stored = f"{destination.name}[{target}] = {ctypes.store(value.dtype, name)};"
    statements = [*emitter.statements((stored,)), stored]
    return [
        "for (int64_t k = lane; k < inner; k += lanes) {",
        *_element_index(statements),
        *(f"  {line}" for line in statements),
        "}",
    ]
