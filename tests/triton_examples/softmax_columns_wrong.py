"""The kernel reads columns as if they were rows: the copy is missing."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=-float("inf"))
    y = tl.softmax(x)
    tl.store(y_ptr + row * columns + offsets, y, mask=inside)


def module_fn(x):
    rows = x.t()
    y = torch.empty(rows.shape, device=x.device, dtype=x.dtype)
    count, length = rows.shape
    softmax_kernel[(count,)](rows, y, length, BLOCK=triton.next_power_of_2(length))
    return y.t().contiguous()
