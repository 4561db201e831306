"""Reductions and scans.

A combine function is called on whole slices: adjacent pairs of the axis are combined until one
element is left, so a 16-bit format is rounded at each step, as on a GPU. A function with control
flow on its values runs element by element instead.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import triton.language as tl
from triton.language import standard

from .contract import Array, Handle, refuse
from .formats import is_packed
from .source import BlockTruth, plain
from .values import tensor

Columns = tuple[Array, ...]  # one array for each combined value, the axis first
Combine = Callable[[Columns, Columns], Columns]


def _caller(function: Any, kinds: Sequence[Any]) -> Combine:
    """Call a combine function on arrays of one shape; fall back to one call an element."""

    def block(left: Columns, right: Columns) -> Columns:
        operands = [tensor(data, kind) for data, kind in zip((*left, *right), (*kinds, *kinds),
                                                             strict=True)]  # fmt: skip
        out = function(*operands)
        parts = out if isinstance(out, (tuple, tl.tuple)) else (out,)
        for part, kind in zip(parts, kinds, strict=True):
            if part.dtype != kind:
                raise TypeError(f"a combine function gives {part.dtype} for {kind}")
        shape = left[0].shape
        return tuple(np.broadcast_to(part.handle.data.reshape(shape) if not part.type.is_block()
                                     else part.handle.data, shape) for part in parts)  # fmt: skip

    def call(left: Columns, right: Columns) -> Columns:
        try:
            return block(left, right)
        except BlockTruth:
            out = tuple(np.empty_like(data) for data in left)
            for index in np.ndindex(left[0].shape):
                one = block(tuple(np.asarray(d[index]) for d in left),
                            tuple(np.asarray(d[index]) for d in right))  # fmt: skip
                for target, value in zip(out, one, strict=True):
                    target[index] = value
            return out

    return call


def reduce_columns(columns: Columns, combine: Combine) -> Columns:
    """Combine the first axis, whose length is a power of 2, to length 1: pair by pair, in order."""
    while len(columns[0]) > 1:
        columns = combine(tuple(c[0::2] for c in columns), tuple(c[1::2] for c in columns))
    return columns


def scan_columns(columns: Columns, combine: Combine) -> Columns:
    """Inclusive scan of the first axis in log2(length) steps (Hillis and Steele, 1986).

    Blocks keep their length, which must be a power of 2; what has no partner yet is kept.
    """
    distance = 1
    while distance < len(columns[0]):
        shifted = tuple(np.concatenate([c[:distance], c[:-distance]]) for c in columns)
        joined = combine(shifted, columns)
        columns = tuple(
            np.concatenate([c[:distance], j[distance:]])
            for c, j in zip(columns, joined, strict=True)
        )
        distance *= 2
    return columns


def _exact(kind: Any) -> bool:
    """May NumPy reduce this in one call: the result is as exact as a GPU's, or more."""
    return not is_packed(kind) and kind not in (tl.float16, tl.int1)


def _quick(function: Any, data: Array, kind: Any) -> Array | None:
    """The common reductions of one array over its first axis, where NumPy has them."""
    if not _exact(kind):
        return None
    floating = kind.is_floating()
    operations: dict[Any, Any] = {
        standard._sum_combine: np.add,
        standard._prod_combine: np.multiply,
        standard._elementwise_max: np.fmax if floating else np.maximum,
        standard._elementwise_min: np.fmin if floating else np.minimum,
    }
    if not floating:
        operations[standard._xor_combine] = np.bitwise_xor
        operations[standard._or_combine] = np.bitwise_or
    operation = operations.get(function)
    if operation is None:
        return None
    if operation in (np.add, np.multiply):
        return np.asarray(operation.reduce(data, axis=0, dtype=data.dtype))
    return np.asarray(operation.reduce(data, axis=0))


def _quick_index(function: Any, columns: Columns, kind: Any) -> Columns | None:
    """argmax and argmin with the first of equal values, where no NaN makes order matter."""
    choose = {
        standard._argmax_combine_tie_break_left: np.argmax,
        standard._argmin_combine_tie_break_left: np.argmin,
    }.get(function)
    if choose is None or len(columns) != 2 or is_packed(kind):
        return None
    values = columns[0]
    if kind.is_floating() and np.isnan(values).any():
        return None
    at = np.expand_dims(choose(values, axis=0), 0)
    return tuple(np.take_along_axis(c, at, axis=0)[0] for c in columns)


def _axis(axis: Any, rank: int) -> int:
    axis = plain(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} of a block with {rank} dimensions")
    return int(axis) % rank


def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False, **_: Any) -> Any:
    """`tl.reduce` over `axis`, or over all elements when it is None."""
    if isinstance(input, tl.tensor):
        return reduce((input,), axis, combine_fn, keep_dims)[0]
    kinds = [value.dtype for value in input]
    arrays = [value.handle.data for value in input]
    rank = arrays[0].ndim if input[0].type.is_block() else 0
    if plain(axis) is None:
        columns = tuple(data.reshape(-1) for data in arrays)
        kept = [1] * rank
    else:
        at = _axis(axis, rank)
        columns = tuple(np.moveaxis(data, at, 0) for data in arrays)
        kept = [1 if i == at else n for i, n in enumerate(arrays[0].shape)]
    out: Columns
    one = _quick(combine_fn, columns[0], kinds[0]) if len(columns) == 1 else None
    if one is not None:
        out = (one,)
    else:
        quick = _quick_index(combine_fn, columns, kinds[0])
        out = quick or tuple(c[0] for c in reduce_columns(columns, _caller(combine_fn, kinds)))
    if plain(keep_dims):
        out = tuple(np.asarray(data).reshape(kept) for data in out)
    return tuple(tensor(np.asarray(data), kind) for data, kind in zip(out, kinds, strict=True))


def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False, **_: Any) -> Any:
    """`tl.associative_scan` along `axis`."""
    if isinstance(input, tl.tensor):
        return associative_scan((input,), axis, combine_fn, reverse)[0]
    kinds = [value.dtype for value in input]
    at = _axis(axis, len(input[0].shape))
    columns = tuple(np.moveaxis(value.handle.data, at, 0) for value in input)
    if plain(reverse):
        columns = tuple(c[::-1] for c in columns)
    out: Columns
    operation = {standard._sum_combine: np.add, standard._prod_combine: np.multiply}.get(combine_fn)
    if operation is not None and len(columns) == 1 and _exact(kinds[0]):
        out = (operation.accumulate(columns[0], axis=0, dtype=columns[0].dtype),)
    else:
        out = scan_columns(columns, _caller(combine_fn, kinds))
    if plain(reverse):
        out = tuple(c[::-1] for c in out)
    return tuple(
        tensor(np.ascontiguousarray(np.moveaxis(data, 0, at)), kind)
        for data, kind in zip(out, kinds, strict=True)
    )


def map_elementwise(function: Any, *inputs: Any, pack: Any = 1, **_: Any) -> Any:
    """`tl.map_elementwise`: control flow over single elements."""
    if plain(pack) != 1:
        refuse("map_elementwise", "", "pack other than 1")
    shape = np.broadcast_shapes(*(value.handle.data.shape for value in inputs))
    arrays = [np.broadcast_to(value.handle.data, shape) for value in inputs]
    rows: list[list[Handle]] = []
    single = True
    for index in np.ndindex(shape):
        one = function(*(tensor(np.asarray(data[index]), value.dtype)
                         for data, value in zip(arrays, inputs, strict=True)))  # fmt: skip
        single = isinstance(one, tl.tensor)
        rows.append([one] if single else list(one))
    out = tuple(
        tensor(np.concatenate([v.handle.data for v in column]).reshape(shape), column[0].dtype)
        for column in zip(*rows, strict=True)
    )
    return out[0] if single else out
