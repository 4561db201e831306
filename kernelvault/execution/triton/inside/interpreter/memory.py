"""Loads and stores: pointers, block pointers and tensor descriptors, each judged by the guard."""

from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import interpreter as native
from triton._C.libtriton import ir
from triton.runtime import interpreter

from .atomics import Atomics, itemsize
from .contract import Array, Guard, Handle, Type, refuse
from .formats import encode
from .values import handle, holder


def _offsets(handles: list[Handle], block_shape: list[int]) -> list[Array]:
    """For each dimension its indices (int64), shaped to broadcast over the block."""
    out = []
    for dim, start in enumerate(handles):
        shape = [1] * len(block_shape)
        shape[dim] = block_shape[dim]
        index = start.data.reshape(-1)[:1].astype(np.int64) + np.arange(block_shape[dim])
        out.append(index.reshape(shape))
    return out


def _materialize(pointer: Any, offsets: list[Handle], checked: Any) -> tuple[Handle, Array]:
    """Addresses and mask of a block that starts at `offsets`; `checked` dimensions are bounded."""
    shape = list(pointer.block_shape)
    size = itemsize(pointer.base)
    addresses = np.broadcast_to(pointer.base.data.reshape(-1)[:1], shape)
    mask = np.ones(shape, dtype=bool)
    for dim, index in enumerate(_offsets(offsets, shape)):
        stride = pointer.strides[dim].data.astype(np.int64)
        addresses = addresses + (size * index * stride).astype(np.uint64)
        if dim in checked:
            mask = mask & (index >= 0) & (index < pointer.shape[dim].data.astype(np.int64))
    return handle(addresses, pointer.base.dtype), mask


def _padding(addresses: Handle, padding: Any) -> Handle:
    """What masked elements read: zeros, or NaN in the element's own bits."""
    kind = addresses.get_element_ty()
    if padding == ir.PADDING_OPTION.PAD_NAN:
        nan = encode(np.array([np.nan]), kind)
        return handle(np.broadcast_to(nan, addresses.data.shape), kind)
    return handle(np.zeros(addresses.data.shape, dtype=holder(kind)), kind)


class Memory:
    """The builder's memory operations over one guard."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.atomics = Atomics(guard)

    def load(self, pointers: Handle, mask: Array, other: Handle | None) -> Handle:
        """Read the active elements; the others get `other`, or zero as on a GPU that has none."""
        kind = pointers.get_element_ty()
        self.guard.check(pointers.data, itemsize(pointers), mask, "load")
        fill = np.zeros(pointers.data.shape, holder(kind)) if other is None else other.data
        return handle(native.load(pointers.data, mask, fill, holder(kind)), kind)

    def store(self, pointers: Handle, value: Handle, mask: Array) -> None:
        size = itemsize(pointers)
        if value.data.dtype.itemsize != size:
            refuse("store", value.dtype, f"{value.data.dtype.itemsize} bytes into {size}")
        self.guard.check(pointers.data, size, mask, "store")
        native.store(pointers.data, np.ascontiguousarray(value.data), mask)

    def methods(self) -> dict[str, Any]:
        """The builder's methods by name."""
        return {**self.atomics.methods(), **self._plain(), **self._descriptors()}

    def _plain(self) -> dict[str, Any]:
        def load(_: Any, pointers: Handle, *options: Any) -> Handle:
            return self.load(pointers, np.ones(pointers.data.shape, dtype=bool), None)

        def store(_: Any, pointers: Handle, value: Handle, *options: Any) -> None:
            self.store(pointers, value, np.ones(pointers.data.shape, dtype=bool))

        def masked_load(
            _: Any, pointers: Handle, mask: Handle, other: Any, *options: Any
        ) -> Handle:
            return self.load(pointers, mask.data, other)

        def masked_store(_: Any, pointers: Handle, value: Handle, mask: Handle, *o: Any) -> None:
            self.store(pointers, value, mask.data)

        def block_load(_: Any, block: Any, checked: Any, padding: Any, *options: Any) -> Handle:
            pointers, mask = _materialize(block, block.offsets, checked)
            return self.load(pointers, mask, _padding(pointers, padding))

        def block_store(_: Any, block: Any, value: Handle, checked: Any, *options: Any) -> None:
            pointers, mask = _materialize(block, block.offsets, checked)
            self.store(pointers, value, mask)

        def advance(_: Any, block: Any, offsets: list[Handle]) -> Any:
            moved = [handle(a.data + b.data.astype(a.data.dtype), a.dtype)
                     for a, b in zip(block.offsets, offsets, strict=True)]  # fmt: skip
            return interpreter.BlockPointerHandle(
                block.base, block.shape, block.strides, moved, block.block_shape, block.order
            )

        return {"create_load": load, "create_store": store, "create_masked_load": masked_load,
                "create_masked_store": masked_store, "create_tensor_pointer_load": block_load,
                "create_tensor_pointer_store": block_store, "create_advance": advance}  # fmt: skip

    def _descriptors(self) -> dict[str, Any]:
        """Tensor descriptors: every dimension is bounded."""

        def load(_: Any, descriptor: Any, offsets: list[Handle], *options: Any) -> Handle:
            pointers, mask = _materialize(descriptor, offsets, range(descriptor.ndim))
            return self.load(pointers, mask, _padding(pointers, descriptor.padding))

        def store(_: Any, descriptor: Any, value: Handle, offsets: list[Handle]) -> None:
            pointers, mask = _materialize(descriptor, offsets, range(descriptor.ndim))
            self.store(pointers, value, mask)

        def gather(_: Any, descriptor: Any, rows: Handle, column: Handle, kind: Type) -> Handle:
            read = [load(_, descriptor, [handle(rows.data[i : i + 1], tl.int32), column])
                    for i in range(len(rows.data))]  # fmt: skip
            return handle(np.concatenate([row.data for row in read]), kind)

        def scatter(_: Any, descriptor: Any, value: Handle, rows: Handle, column: Handle) -> None:
            for i in range(len(rows.data)):
                row = handle(value.data[i : i + 1], value.dtype)
                store(_, descriptor, row, [handle(rows.data[i : i + 1], tl.int32), column])

        def reduce(_: Any, how: Any, descriptor: Any, value: Handle, offsets: list[Handle]) -> None:
            pointers, mask = _materialize(descriptor, offsets, range(descriptor.ndim))
            self.atomics.update(how.name.lower(), pointers, value, mask)

        return {"create_descriptor_load": load, "create_descriptor_store": store,
                "create_descriptor_gather": gather, "create_descriptor_scatter": scatter,
                "create_descriptor_reduce": reduce}  # fmt: skip
