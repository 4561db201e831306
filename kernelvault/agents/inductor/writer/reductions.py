"""Reductions in terms of `tl.sum`, `tl.max` and `tl.min`.

They give what the functions of the same name in PyTorch's `triton_helpers` give. Those pass combine
functions to `tl.reduce`, which a GPU runs well and Triton's interpreter one element at a time.
The writer copies their text into modules.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# ruff: noqa: PLR0124  (only a NaN differs from itself)

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def max2(a, dim):
    # As in PyTorch, a NaN wins.
    largest = tl.max(a, dim)
    if a.dtype.is_floating():
        has_nan = tl.max((a != a).to(tl.int32), dim) > 0
        largest = tl.where(has_nan, float("nan"), largest)
    return largest


@triton.jit
def min2(a, dim):
    # As in PyTorch, a NaN wins.
    smallest = tl.min(a, dim)
    if a.dtype.is_floating():
        has_nan = tl.max((a != a).to(tl.int32), dim) > 0
        smallest = tl.where(has_nan, float("nan"), smallest)
    return smallest


@triton.jit
def max_with_index(value, index, dim):
    # The first of equal values; NaNs count as equal and as largest.
    largest = max2(value, dim)
    wanted = tl.expand_dims(largest, dim)
    hit = (value == wanted) | ((value != value) & (wanted != wanted))
    return largest, tl.min(tl.where(hit, index, 2147483647), dim)


@triton.jit
def min_with_index(value, index, dim):
    # The first of equal values; NaNs count as equal and as smallest.
    smallest = min2(value, dim)
    wanted = tl.expand_dims(smallest, dim)
    hit = (value == wanted) | ((value != value) & (wanted != wanted))
    return smallest, tl.min(tl.where(hit, index, 2147483647), dim)


@triton.jit
def welford(mean, m2, weight, dim):
    # Joins partial means and sums of squares, each over `weight` elements.
    total = tl.sum(weight, dim)
    share = 1.0 / tl.where(total == 0.0, 1.0, total)
    joined = tl.sum(mean * weight, dim) * share
    delta = mean - tl.expand_dims(joined, dim)
    return joined, tl.sum(m2 + weight * delta * delta, dim), total


@triton.jit
def any(a, dim):
    return tl.max((a != 0).to(tl.int32), dim) > 0


@triton.jit
def select_one(x, mask, dim, keep_dims=False):
    # `mask` holds for one element along `dim`.
    return tl.sum(tl.where(mask, x, 0), dim, keep_dims=keep_dims).to(x.dtype)
