"""The exponential is an instruction of NVIDIA's assembly."""

import torch
import triton
import triton.language as tl


@triton.jit
def exp2_fast(x):
    return tl.inline_asm_elementwise(
        "ex2.approx.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def swish_kernel(x_ptr, y_ptr, count, beta, BLOCK: tl.constexpr):
    log2_e: tl.constexpr = 1.4426950408889634
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, count, step):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < count
        x = tl.load(x_ptr + offsets, mask=inside)
        y = x / (1.0 + exp2_fast(-x * beta * log2_e))
        tl.store(y_ptr + offsets, y, mask=inside)


def module_fn(x, beta):
    y = torch.empty_like(x)
    count = x.numel()
    block = 256
    programs = min(triton.cdiv(count, block), 8)
    swish_kernel[(programs,)](x, y, count, beta, BLOCK=block)
    return y
