"""Padding columns are left out of the mean but counted in the variance."""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, rows, columns, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    known = column < columns
    inside = (row < rows)[:, None] & known[None, :]
    at = row[:, None] * columns + column[None, :]

    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / columns
    centred = x - mean[:, None]
    variance = tl.sum(centred * centred, axis=1) / columns
    scale = tl.rsqrt(variance + eps)

    weight = tl.load(weight_ptr + column, mask=known, other=0.0)
    bias = tl.load(bias_ptr + column, mask=known, other=0.0)
    y = centred * scale[:, None] * weight[None, :] + bias[None, :]
    tl.store(y_ptr + at, y, mask=inside)


def module_fn(x, weight, bias, dim, eps):
    y = torch.empty_like(x)
    rows = x.numel() // dim
    block_rows = 4
    layer_norm_kernel[(triton.cdiv(rows, block_rows),)](
        x, weight, bias, y, rows, dim, eps, ROWS=block_rows, BLOCK=triton.next_power_of_2(dim)
    )
    return y
