"""The normal distribution comes from a function that only NVIDIA's device library has."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def normal_cdf(x):
    return libdevice.normcdf(x)


@triton.jit
def gelu(x):
    return x * normal_cdf(x)


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, y_ptr, count, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside)
    bias = tl.load(bias_ptr + offsets % columns, mask=inside)
    tl.store(y_ptr + offsets, gelu(x + bias), mask=inside)


def module_fn(x, bias):
    y = torch.empty_like(x)
    count = x.numel()

    def grid(meta):
        return (triton.cdiv(count, meta["BLOCK"]),)

    bias_gelu_kernel[grid](x, bias, y, count, x.shape[-1], BLOCK=1024)
    return y
