"""Matrix products with whatever is elementwise around them: operands are loaded through their own
expressions (so a transposed weight costs nothing) and the epilogue is applied before the store."""

from __future__ import annotations

from kernelvault.agents.template import ctypes
from kernelvault.agents.template.dims import product
from kernelvault.agents.template.emit import Bindings, Coords, Emitter, NeedsBufferError
from kernelvault.agents.template.ir import Contract, Reduce, walk
from kernelvault.agents.template.kernel import (
    Destination,
    Kernel,
    ceil_div,
    header,
    indent,
    pointers,
)
from kernelvault.agents.template.schedules import WAVE, MatmulSchedule


def matmul_kernel(
    name: str, destination: Destination, symbols: tuple[str, ...], schedule: MatmulSchedule
) -> Kernel:
    """A product with fused operands and epilogue.

    Raises NeedsBufferError for what must be in memory first: a reduction or product below the
    operands, or the product itself when its consumer reads it at other coordinates.
    """
    contract = _contract(destination)
    batch = product(contract.shape[:-2])
    body = {"lds_tile": _lds_tile, "naive": _naive, "wave_dot": _wave_dot}[schedule.structure]
    m, n = contract.shape[-2:]
    threads_x, threads_y = schedule.threads
    lines = [
        f"const int64_t batches = {batch}, M = {m}, N = {n}, K = {contract.depth};",
        "for (int64_t batch = blockIdx.z; batch < batches; batch += gridDim.z) {",
        *(f"  {line}" for line in body(contract, destination, schedule)),
        "}",
    ]
    head = header(name, threads_x * threads_y, destination, symbols)
    columns, rows = ceil_div(n, schedule.tile_n), ceil_div(m, schedule.tile_m)
    grid = (f"(unsigned)({columns})", f"(unsigned)({rows})", f"kv_capped_z({batch})")
    if schedule.structure == "wave_dot":  # rows beyond a grid's height are walked over
        grid = (grid[0], f"kv_capped_z({m})", grid[2])
    return Kernel(
        name,
        f"{head}\n{indent(lines, 1).replace('  #pragma', '#pragma')}\n}}",
        grid,
        (threads_x, threads_y),
        pointers(destination),
        wave64_only=schedule.structure == "wave_dot",
    )


def _contract(destination: Destination) -> Contract:
    heavy = [v for v in walk(destination.value) if isinstance(v, Contract | Reduce)]
    contracts = [v for v in heavy if isinstance(v, Contract)]
    last = contracts[-1]
    for other in heavy:
        if other is not last:
            raise NeedsBufferError(other)
    if destination.value.shape != last.shape:
        raise NeedsBufferError(last)
    return last


def _operand(
    contract: Contract, which: str, rows: str, columns: str, prefix: str
) -> tuple[list[str], str]:
    """(statements, name) of an operand's element at (batch, rows, columns), in float."""
    value = contract.a if which == "a" else contract.b
    emitter = Emitter({}, prefix)
    lead = emitter.unravel("batch", value.shape[:-2]).index
    name = emitter.value(value, Coords((*lead, rows, columns), value.shape))
    return emitter.statements((name,)), name


def _epilogue(contract: Contract, destination: Destination, acc: str) -> list[str]:
    """Statements that store the result at (batch, row, column), given the product in `acc`."""
    bound: Bindings = {}
    emitter = Emitter(bound, "t")
    lead = emitter.unravel("batch", contract.shape[:-2]).index
    coords = Coords((*lead, "row", "column"), contract.shape)
    bound[id(contract), coords.index] = acc
    value = destination.value
    name = emitter.value(value, coords)
    target = "(batch * M + row) * N + column"
    stored = f"{destination.name}[{target}] = {ctypes.store(value.dtype, name)};"
    return [*emitter.statements((stored,)), stored]


def _naive(contract: Contract, destination: Destination, s: MatmulSchedule) -> list[str]:
    a, a_name = _operand(contract, "a", "row", "k", "a")
    b, b_name = _operand(contract, "b", "k", "column", "b")
    return [
        f"const int64_t row = blockIdx.y * (int64_t){s.tile_m} + threadIdx.y;",
        f"const int64_t column = blockIdx.x * (int64_t){s.tile_n} + threadIdx.x;",
        "if (row >= M || column >= N) continue;",
        "float acc = 0.0f;",
        "for (int64_t k = 0; k < K; ++k) {",
        *(f"  {line}" for line in [*a, *b]),
        f"  acc = fmaf({a_name}, {b_name}, acc);",
        "}",
        *_epilogue(contract, destination, "acc"),
    ]


def _wave_dot(contract: Contract, destination: Destination, s: MatmulSchedule) -> list[str]:
    a, a_name = _operand(contract, "a", "row", "k", "a")
    b, b_name = _operand(contract, "b", "k", "column", "b")
    return [
        f"const int64_t column = blockIdx.x * (int64_t){s.tile_n} + threadIdx.y;",
        "if (column >= N) continue;",
        "for (int64_t row = blockIdx.y; row < M; row += gridDim.y) {",
        "  float acc = 0.0f;",
        f"  for (int64_t k = threadIdx.x; k < K; k += {WAVE}) {{",
        *(f"    {line}" for line in [*a, *b]),
        f"    acc = fmaf({a_name}, {b_name}, acc);",
        "  }",
        "  acc = kv_wave_sum(acc);",
        "  if (threadIdx.x == 0) {",
        *(f"    {line}" for line in _epilogue(contract, destination, "acc")),
        "  }",
        "}",
    ]


def _lds_tile(contract: Contract, destination: Destination, s: MatmulSchedule) -> list[str]:
    threads_x, threads_y = s.threads
    a, a_name = _operand(contract, "a", "a_row", "a_k", "a")
    b, b_name = _operand(contract, "b", "b_k", "b_column", "b")
    threads = threads_x * threads_y
    return [
        f"__shared__ float a_tile[{s.tile_m}][{s.tile_k} + 1];",
        f"__shared__ float b_tile[{s.tile_k}][{s.tile_n} + 1];",
        f"const int thread = threadIdx.y * {threads_x} + threadIdx.x;",
        f"const int64_t first_row = blockIdx.y * (int64_t){s.tile_m};",
        f"const int64_t first_column = blockIdx.x * (int64_t){s.tile_n};",
        f"float acc[{s.micro_m}][{s.micro_n}] = {{}};",
        f"for (int64_t k0 = 0; k0 < K; k0 += {s.tile_k}) {{",
        *_tile_load("a_tile", s.tile_m, s.tile_k, threads, a, a_name),
        *_tile_load("b_tile", s.tile_k, s.tile_n, threads, b, b_name),
        "  __syncthreads();",
        "#pragma unroll",
        f"  for (int k = 0; k < {s.tile_k}; ++k) {{",
        "#pragma unroll",
        f"    for (int i = 0; i < {s.micro_m}; ++i) {{",
        "#pragma unroll",
        f"      for (int j = 0; j < {s.micro_n}; ++j) {{",
        f"        acc[i][j] = fmaf(a_tile[threadIdx.y + i * {threads_y}][k],"
        f" b_tile[k][threadIdx.x + j * {threads_x}], acc[i][j]);",
        "      }",
        "    }",
        "  }",
        "  __syncthreads();",
        "}",
        f"for (int i = 0; i < {s.micro_m}; ++i) {{",
        f"  for (int j = 0; j < {s.micro_n}; ++j) {{",
        f"    const int64_t row = first_row + threadIdx.y + i * {threads_y};",
        f"    const int64_t column = first_column + threadIdx.x + j * {threads_x};",
        "    if (row >= M || column >= N) continue;",
        *(f"    {line}" for line in _epilogue(contract, destination, "acc[i][j]")),
        "  }",
        "}",
    ]


def _tile_load(
    tile: str, rows: int, columns: int, threads: int, statements: list[str], name: str
) -> list[str]:
    """Every work-item loads its share of a tile; beyond the matrix it is zero."""
    if tile == "a_tile":
        first, second, inside = ("a_row = first_row + y", "a_k = k0 + x", "a_row < M && a_k < K")
    else:
        first, second = "b_k = k0 + y", "b_column = first_column + x"
        inside = "b_k < K && b_column < N"
    return [
        f"  for (int i = thread; i < {rows * columns}; i += {threads}) {{",
        f"    const int y = i / {columns}, x = i % {columns};",
        f"    const int64_t {first}, {second};",
        "    float element = 0.0f;",
        f"    if ({inside}) {{",
        *(f"      {line}" for line in statements),
        f"      element = {name};",
        "    }",
        f"    {tile}[y][x] = element;",
        "  }",
    ]
