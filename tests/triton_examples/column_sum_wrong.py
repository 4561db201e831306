"""The result that is added to holds whatever the memory held."""

import torch
import triton
import triton.language as tl


@triton.jit
def column_sum_kernel(x_ptr, y_ptr, rows, columns, BR: tl.constexpr, BC: tl.constexpr):
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    column = tl.program_id(1) * BC + tl.arange(0, BC)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    x = tl.load(x_ptr + row[:, None] * columns + column[None, :], mask=inside, other=0.0)
    tl.atomic_add(y_ptr + column, tl.sum(x, axis=0), mask=column < columns)


def module_fn(x):
    rows, columns = x.shape
    y = torch.empty((columns,), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(rows, 64), triton.cdiv(columns, 32))
    column_sum_kernel[grid](x, y, rows, columns, BR=64, BC=32)
    return y
