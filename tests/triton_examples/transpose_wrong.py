"""The tile is stored as it was loaded, in the wrong shape."""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, y_ptr, rows, columns, scale, BR: tl.constexpr, BC: tl.constexpr):
    row = tl.program_id(0) * BR
    column = tl.program_id(1) * BC
    source = tl.make_tensor_descriptor(
        x_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[BR, BC]
    )
    target = tl.make_tensor_descriptor(
        y_ptr, shape=[columns, rows], strides=[rows, 1], block_shape=[BC, BR]
    )
    tile = source.load([row, column])
    target.store([column, row], tile * scale)


def module_fn(x, scale):
    rows, columns = x.shape
    y = torch.empty((columns, rows), device=x.device, dtype=x.dtype)
    block_rows, block_columns = 32, 64
    grid = (triton.cdiv(rows, block_rows), triton.cdiv(columns, block_columns))
    transpose_kernel[grid](x, y, rows, columns, scale, BR=block_rows, BC=block_columns)
    return y
