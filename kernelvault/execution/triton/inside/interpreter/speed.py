"""Types and shapes of the language, remembered.

Every operation makes a tensor and a block type, and the stock classes wrap and check each size of
each shape again. Kernels use few shapes, so these are computed once.
"""

from typing import Any, NamedTuple

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

from .values import handle, holder

_block_init = tl.block_type.__init__
_tensor_init = tl.tensor.__init__
_broadcast = TritonSemantic.broadcast_impl_value


class Shape(NamedTuple):
    """What follows from the sizes of a block: as the block type and as the tensor hold it."""

    sizes: Any  # tl.tuple of int
    numel: int
    constants: Any  # tl.tuple of tl.constexpr
    constant_numel: Any  # tl.constexpr


_shapes: dict[tuple[int, ...], Shape] = {}
_pairs: dict[tuple[int, int], tuple[int, ...] | None] = {}
_names: dict[tuple[str, tuple[int, ...]], str] = {}


def _sizes(shape: Any) -> tuple[Any, ...]:
    return tuple(n if n.__class__ is int else getattr(n, "value", n) for n in shape)


def _remembering_block_init(self: Any, element_ty: Any, shape: Any) -> None:
    sizes = _sizes(shape)
    known = _shapes.get(sizes)
    if known is None:
        _block_init(self, element_ty, shape)
        probe = tl.tensor.__new__(tl.tensor)
        _tensor_init(probe, None, self)
        known = _shapes[sizes] = Shape(self.shape, self.numel, probe.shape, probe.numel)
    self.element_ty = element_ty
    self.shape = known.sizes
    self.numel = known.numel
    self.known = known
    name = _names.get((element_ty.name, sizes))
    if name is None:
        name = _names[element_ty.name, sizes] = f"<{known.sizes}, {element_ty}>"
    self.name = name


def _remembering_tensor_init(self: Any, value: Any, type: Any) -> None:
    known = getattr(type, "known", None)
    if known is None:
        _tensor_init(self, value, type)
        return
    self.handle = value
    self.type = type
    self.shape = known.constants
    self.numel = known.constant_numel
    self.dtype = type.element_ty


def _common(left: Shape, right: Shape) -> Shape | None:
    """The shape that two blocks of one rank broadcast to, when it is known already."""
    pair = (id(left), id(right))  # shapes live as long as the process
    if pair not in _pairs:
        one, other = tuple(left.sizes), tuple(right.sizes)
        fits = len(one) == len(other) and all(
            m == n or 1 in (m, n) for m, n in zip(one, other, strict=True)
        )
        _pairs[pair] = tuple(map(max, one, other)) if fits else None
    sizes = _pairs[pair]
    return _shapes.get(sizes) if sizes else None


def _stretched(value: Any, shape: Shape) -> Any:
    if value.type.known is shape:
        return value
    data = np.broadcast_to(value.handle.data, tuple(shape.sizes))
    return tl.tensor(handle(data, value.dtype), tl.block_type(value.dtype, shape.sizes))


def _remembering_broadcast(self: Any, left: Any, right: Any) -> Any:
    one, other = getattr(left.type, "known", None), getattr(right.type, "known", None)
    if one is not None and other is not None:
        if one is other:
            return left, right
        shape = _common(one, other)
        if shape is not None:
            return _stretched(left, shape), _stretched(right, shape)
    return _broadcast(self, left, right)


def remember_shapes() -> None:
    """Patch the language's types."""
    tl.block_type.__init__ = _remembering_block_init
    tl.tensor.__init__ = _remembering_tensor_init
    TritonSemantic.broadcast_impl_value = _remembering_broadcast
    interpreter._get_np_dtype = holder
