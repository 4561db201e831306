"""What a kernel emitter gives back: device code, and how the host launches it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelvault.agents.template import ctypes
from kernelvault.agents.template.ir import Load, Value, walk


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a kernel writes: an output of the problem or a workspace buffer."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: its source, block size and grid (C expressions over the symbols), and the
    pointers it takes, in order."""

    name: str
    source: str
    grid: tuple[str, str, str]
    block: tuple[int, int]
    pointers: tuple[str, ...]
    wave64_only: bool = False


def loads(value: Value) -> tuple[Load, ...]:
    """The tensors a value reads, sorted by name."""
    found = {node.name: node for node in walk(value) if isinstance(node, Load)}
    return tuple(found[name] for name in sorted(found))


def header(name: str, threads: int, destination: Destination, symbols: Iterable[str]) -> str:
    """The signature of a kernel up to its opening brace."""
    value = destination.value
    parameters = [
        f"const {ctypes.storage(load.dtype)}* __restrict__ {load.name}" for load in loads(value)
    ]
    parameters.append(f"{ctypes.storage(value.dtype)}* __restrict__ {destination.name}")
    parameters += [f"int64_t {symbol}" for symbol in symbols]
    listed = ",\n    ".join(parameters)
    return f"__global__ __launch_bounds__({threads}) void {name}(\n    {listed}) {{"


def pointers(destination: Destination) -> tuple[str, ...]:
    """The pointer arguments that `header` declares, in order."""
    return (*(load.name for load in loads(destination.value)), destination.name)


def indent(lines: Iterable[str], levels: int) -> str:
    """Lines with two spaces a level."""
    return "\n".join("  " * levels + line for line in lines)


def ceil_div(a: str, b: int) -> str:
    """`a / b` rounded up, as C."""
    return a if b == 1 else f"({a} + {b - 1}) / {b}"
