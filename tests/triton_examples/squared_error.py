"""Parts of a full reduction meet in one number."""

import torch
import triton
import triton.language as tl


@triton.jit
def squared_error_kernel(x_ptr, y_ptr, total_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    y = tl.load(y_ptr + offsets, mask=inside, other=0.0)
    difference = x - y
    part = tl.sum(difference * difference, axis=0)
    tl.atomic_add(total_ptr, part / count)


def module_fn(x, y):
    total = torch.zeros((1,), device=x.device, dtype=x.dtype)
    count = x.numel()
    squared_error_kernel[(triton.cdiv(count, 512),)](x, y, total, count, BLOCK=512)
    return total.view(())
