"""Assembles a candidate: kernels in dependency order, workspace buffers, the host entry point."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelvault.agents.template import ctypes
from kernelvault.agents.template.dims import UnsupportedError, product
from kernelvault.agents.template.emit import NeedsBufferError
from kernelvault.agents.template.ir import Contract, Load, Reduce, Value, children, walk
from kernelvault.agents.template.kernel import Destination, Kernel
from kernelvault.agents.template.matmul import matmul_kernel
from kernelvault.agents.template.pointwise import pointwise_kernel
from kernelvault.agents.template.prelude import device_helpers
from kernelvault.agents.template.rows import row_kernel
from kernelvault.agents.template.schedules import Schedule
from kernelvault.spec.graph import Graph

_MAX_KERNELS = 24


@dataclass(frozen=True, slots=True)
class Buffer:
    """A workspace slice that holds an intermediate value."""

    name: str
    value: Value


def dominant_kind(outputs: Sequence[Value]) -> str:
    """Which kind of kernel does most of the work: what a schedule should vary."""
    nodes = [node for output in outputs for node in walk(output)]
    if any(isinstance(node, Contract) for node in nodes):
        return "matmul"
    return "rows" if any(isinstance(node, Reduce) for node in nodes) else "pointwise"


def generate(graph: Graph, outputs: Sequence[Value], title: str, schedule: Schedule) -> str:
    """The source of a candidate. Raises UnsupportedError when no kernels can be found for it."""
    if any(isinstance(v, Load) and v.dtype == "float64" for o in outputs for v in walk(o)):
        raise UnsupportedError("unsupported: dtype float64")
    builder = _Builder(tuple(symbol for symbol, _, _ in graph.symbols), schedule)
    for index, output in enumerate(outputs):
        builder.store(output, f"out{index}")
    return _source(graph, outputs, builder, title, schedule)


class _Builder:
    """Finds kernels for outputs, storing intermediate values as they turn out to be needed."""

    def __init__(self, symbols: tuple[str, ...], schedule: Schedule) -> None:
        self.kernels: list[Kernel] = []
        self.buffers: list[Buffer] = []
        self.symbols = symbols
        self._schedule = schedule
        self._stored: dict[int, Load] = {}

    def store(self, value: Value, name: str) -> None:
        """Add the kernels that write `value` to `name`."""
        while True:
            if len(self.kernels) > _MAX_KERNELS:
                raise UnsupportedError("unsupported: a graph of more than 24 kernels")
            try:
                self.kernels.append(self._kernel(Destination(name, self._substitute(value))))
                return
            except NeedsBufferError as need:
                self._store_intermediate(need.value, value)

    def _kernel(self, destination: Destination) -> Kernel:
        number = len(self.kernels)
        nodes = list(walk(destination.value))
        if any(isinstance(node, Contract) for node in nodes):
            name = f"matmul_{number}"
            return matmul_kernel(name, destination, self.symbols, self._schedule.matmul)
        if any(isinstance(node, Reduce) for node in nodes):
            name = f"rows_{number}"
            return row_kernel(name, destination, self.symbols, self._schedule.rows)
        name = f"pointwise_{number}"
        return pointwise_kernel(name, destination, self.symbols, self._schedule.pointwise)

    def _store_intermediate(self, needed: Value, root: Value) -> None:
        original = self._originals.get(id(needed), needed)
        if original is root:
            raise UnsupportedError("unsupported: a graph that needs its own result")
        name = f"buffer{len(self.buffers)}"
        buffer = Load(original.shape, original.dtype, name)
        self.buffers.append(Buffer(name, original))
        self.store(original, name)
        self._stored[id(original)] = buffer

    def _substitute(self, value: Value) -> Value:
        """`value` with everything that is stored replaced by a load of its buffer."""
        self._originals: dict[int, Value] = {}
        made: dict[int, Value] = {}
        for node in walk(value):
            stored = self._stored.get(id(node))
            new = stored if stored is not None else _rebuilt(node, made)
            made[id(node)] = new
            self._originals[id(new)] = node
        return made[id(value)]


def _rebuilt(node: Value, made: dict[int, Value]) -> Value:
    old = children(node)
    new = tuple(made[id(child)] for child in old)
    if all(a is b for a, b in zip(old, new, strict=True)):
        return node
    changes: dict[str, Any] = {}
    if hasattr(node, "args"):
        changes["args"] = new
    elif isinstance(node, Contract):
        changes.update(a=new[0], b=new[1])
    else:
        changes["arg"] = new[0]
        if len(new) == 2:
            changes["index"] = new[1]
    return replace(node, **changes)


# ------------------------------------------------------------------ text
def _source(
    graph: Graph, outputs: Sequence[Value], builder: _Builder, title: str, schedule: Schedule
) -> str:
    kernels = "\n\n".join(kernel.source for kernel in builder.kernels)
    choices = ", ".join(f"{key} {value}" for key, value in schedule.as_json().items())
    notes = [f"// {title}", f"// schedule: {choices}"]
    if any(kernel.wave64_only for kernel in builder.kernels):
        notes.append("// kernelvault: wave64-only")
    dtypes = sorted({item.tensor.dtype for item in graph.inputs} | {o.dtype for o in outputs})
    includes = ["hip/hip_runtime.h", "kernelvault/abi.h", "math.h"]
    includes += [ctypes.HEADERS[dtype] for dtype in dtypes if dtype in ctypes.HEADERS]
    parts = [
        "\n".join(notes),
        "\n".join(f"#include <{name}>" for name in includes),
        device_helpers(kernels),
        kernels,
        _host_helpers(graph, kernels + _launches(builder)),
        *([_workspace_function(builder)] if builder.buffers else []),
        _launch_function(graph, outputs, builder),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _host_helpers(graph: Graph, text: str) -> str:
    parts = []
    symbols = [
        f"  int64_t {symbol};  // dimension {dim} of input {index}"
        for symbol, index, dim in graph.symbols
    ]
    if symbols:
        reads = [
            f"  s.{symbol} = args->inputs[{index}].shape[{dim}];"
            for symbol, index, dim in graph.symbols
        ]
        body = "\n".join(symbols)
        parts.append(f"struct Sizes {{\n{body}\n}};")
        listed = "\n".join(["  Sizes s;", *reads, "  return s;"])
        parts.append(f"static Sizes read_sizes(const kv_args* args) {{\n{listed}\n}}")
    for name, limit in (("kv_capped", "1 << 20"), ("kv_capped_z", "65535")):
        if f"{name}(" in text:
            parts.append(
                "// The kernel walks over what exceeds the grid.\n"
                f"static unsigned {name}(int64_t blocks) {{\n"
                f"  return (unsigned)(blocks < ({limit}) ? blocks : ({limit}));\n}}"
            )
    return "\n\n".join(parts)


def _locals(builder: _Builder, text: str) -> list[str]:
    """Declarations of the symbols that `text` uses."""
    used = [symbol for symbol in builder.symbols if re.search(rf"\b{symbol}\b", text)]
    if not used:
        return []
    names = ", ".join(f"{symbol} = sizes.{symbol}" for symbol in used)
    return ["  const Sizes sizes = read_sizes(args);", f"  const int64_t {names};"]


def _aligned(buffer: Buffer) -> str:
    size = product(buffer.value.shape)
    kind = ctypes.storage(buffer.value.dtype)
    return f"({size} * sizeof({kind}) + 255) / 256 * 256"


def _workspace_function(builder: _Builder) -> str:
    total = " + ".join(_aligned(buffer) for buffer in builder.buffers)
    lines = [*_locals(builder, total), f"  return {total};"]
    body = "\n".join(lines)
    return f'extern "C" size_t kv_workspace_size(const kv_args* args) {{\n{body}\n}}'


def _launches(builder: _Builder) -> str:
    return "\n".join(_launch(kernel, builder.symbols) for kernel in builder.kernels)


def _launch(kernel: Kernel, symbols: tuple[str, ...]) -> str:
    arguments = ", ".join([*kernel.pointers, *symbols])
    x, y, z = kernel.grid
    block = f"dim3({kernel.block[0]}, {kernel.block[1]})"
    return (
        f"  {kernel.name}<<<dim3({x}, {y}, {z}), {block}, 0, args->stream>>>(\n      {arguments});"
    )


def _launch_function(graph: Graph, outputs: Sequence[Value], builder: _Builder) -> str:
    lines: list[str] = []
    sizes = [product(output.shape) for output in outputs]
    empty = " || ".join(f"{size} == 0" for size in sizes if not size.isdigit())
    if empty:
        lines.append(f"  if ({empty}) return 0;")
    used = {pointer for kernel in builder.kernels for pointer in kernel.pointers}
    for item in graph.inputs:
        if f"in{item.index}" in used:
            kind = ctypes.storage(item.tensor.dtype)
            tensor = f"args->inputs[{item.index}]"
            lines.append(f"  const {kind}* in{item.index} = kv_data<const {kind}>({tensor});")
    for index, output in enumerate(outputs):
        kind = ctypes.storage(output.dtype)
        lines.append(f"  {kind}* out{index} = kv_data<{kind}>(args->outputs[{index}]);")
    offset: list[str] = []
    for buffer in builder.buffers:
        kind = ctypes.storage(buffer.value.dtype)
        start = " + ".join(["(char*)args->workspace", *offset])
        lines.append(f"  {kind}* {buffer.name} = ({kind}*)({start});")
        offset.append(_aligned(buffer))
    lines += [_launches(builder), "  return (int)hipGetLastError();"]
    body = "\n".join(lines)
    body = "\n".join([*_locals(builder, body), body])
    return f'extern "C" int kv_launch(const kv_args* args) {{\n{body}\n}}'
