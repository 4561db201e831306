"""Atomic read-modify-write and compare-and-swap.

Elements of one block that meet at one address act one after the other, each in its own round.
Programs run serially, so a missing atomic between programs cannot show.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from triton._C.libtriton import interpreter as native
from triton.runtime import interpreter

from .contract import Array, Guard, Handle, refuse
from .values import SIGNED, handle, holder, numbers, rounded, unsigned


def itemsize(pointers: Handle) -> int:
    """Bytes of one element that `pointers` point to."""
    return max(1, int(pointers.get_element_ty().primitive_bitwidth) // 8)


def _signed(operation: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def call(old: Array, new: Array) -> Array:
        kind = SIGNED[old.dtype.itemsize]
        return operation(old.view(kind), new.view(kind)).view(old.dtype)

    return call


def _unsigned(operation: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def call(old: Array, new: Array) -> Array:
        return operation(unsigned(old), unsigned(new)).view(old.dtype)

    return call


OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "fadd": np.add, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "xchg": lambda old, new: new, "max": _signed(np.maximum),
    "min": _signed(np.minimum), "umax": _unsigned(np.maximum), "umin": _unsigned(np.minimum),
}  # fmt: skip

NARROW = {"add", "fadd", "xchg"}  # what is defined on 16-bit floats


def rounds(addresses: Array) -> Iterator[Array]:
    """Split indices of `addresses` into rounds without a repeated address, first come first."""
    order = np.argsort(addresses, kind="stable")
    ordered = addresses[order]
    fresh = np.r_[True, ordered[1:] != ordered[:-1]]
    if fresh.all():
        yield np.arange(len(addresses))
        return
    starts = np.maximum.accumulate(np.where(fresh, np.arange(len(ordered)), 0))
    rank = np.empty(len(ordered), dtype=np.int64)
    rank[order] = np.arange(len(ordered)) - starts
    for step in range(int(rank.max()) + 1):
        yield np.flatnonzero(rank == step)


class Atomics:
    """Atomic operations over one guard."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    def _each(self, pointers: Handle, mask: Array, step: Callable[[Handle, Array], Array]) -> Array:
        """Run `step(old, chosen)` on each round and store what it gives; return the old data.

        `chosen` are positions in the flattened block. Inactive elements return zero.
        """
        shape = pointers.data.shape
        mask = np.broadcast_to(mask, shape)
        size, kind = itemsize(pointers), pointers.get_element_ty()
        self.guard.check(pointers.data, size, mask, "atomic")
        flat = pointers.data.reshape(-1)
        seen = np.zeros(flat.shape, dtype=holder(kind))
        active = np.flatnonzero(mask.reshape(-1))
        if not len(active):
            return seen.reshape(shape)
        for chosen in rounds(flat[active]):
            where = active[chosen]
            every = np.ones(len(where), dtype=bool)
            old = native.load(flat[where], every, np.zeros(len(where), holder(kind)), holder(kind))
            native.store(flat[where], np.ascontiguousarray(step(handle(old, kind), where)), every)
            seen[where] = old
        return seen.reshape(shape)

    def update(self, name: str, pointers: Handle, value: Handle, mask: Array) -> Handle:
        """Apply `name` (a key of `OPERATIONS`) with `value`; return what was there before."""
        kind = pointers.get_element_ty()
        operation = OPERATIONS.get(name)
        if operation is None or (kind.is_floating() and itemsize(pointers) < 4
                                 and name not in NARROW):  # fmt: skip
            refuse(f"atomic_{name}", kind)
        if value.data.dtype.itemsize != itemsize(pointers):
            refuse(f"atomic_{name}", kind, "value and memory differ in size")
        flat = np.broadcast_to(value.data, pointers.data.shape).reshape(-1)

        def step(old: Handle, where: Array) -> Array:
            new = handle(flat[where], value.dtype)
            if name == "xchg":
                return np.asarray(new.data)
            return np.asarray(rounded(operation(numbers(old), numbers(new)), value.dtype).data)

        return handle(self._each(pointers, mask, step).view(value.data.dtype), value.dtype)

    def swap(self, pointers: Handle, expected: Handle, value: Handle) -> Handle:
        """Store `value` where memory has the bits of `expected`; return what was there before."""
        size = itemsize(pointers)
        if expected.data.dtype.itemsize != size or value.data.dtype.itemsize != size:
            refuse("atomic_cas", pointers.get_element_ty(), "operands and memory differ in size")
        want = np.broadcast_to(unsigned(expected.data), pointers.data.shape).reshape(-1)
        new = np.broadcast_to(unsigned(value.data), pointers.data.shape).reshape(-1)

        def step(old: Handle, where: Array) -> Array:
            bits = unsigned(old.data)
            return np.where(bits == want[where], new[where], bits)

        every = np.ones(pointers.data.shape, dtype=bool)
        return handle(self._each(pointers, every, step).view(expected.data.dtype), expected.dtype)

    def methods(self) -> dict[str, Any]:
        """The builder's methods by name."""

        def rmw(_: Any, how: Any, pointers: Handle, value: Handle, mask: Handle, *o: Any) -> Handle:
            if how not in interpreter.InterpreterBuilder.ir_rmw_op_to_interpreter_rmw_op:
                refuse(f"atomic operation {how}", value.dtype)
            return self.update(how.name.lower(), pointers, value, mask.data)

        def cas(_: Any, pointers: Handle, expected: Handle, value: Handle, *o: Any) -> Handle:
            return self.swap(pointers, expected, value)

        return {"create_atomic_rmw": rmw, "create_atomic_cas": cas}
