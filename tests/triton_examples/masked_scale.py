"""Elements chosen by a mask of booleans."""

import torch
import triton
import triton.language as tl


@triton.jit
def masked_scale_kernel(x_ptr, mask_ptr, y_ptr, count, scale, fill, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    keep = tl.load(mask_ptr + offsets, mask=inside, other=0) != 0
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    tl.store(y_ptr + offsets, tl.where(keep, x * scale, fill), mask=inside)


def module_fn(x, mask, scale, fill):
    y = torch.empty_like(x)
    count = x.numel()
    grid = (triton.cdiv(count, 1024),)
    masked_scale_kernel[grid](x, mask, y, count, scale, fill, BLOCK=1024)
    return y
