"""A grid of three dimensions: tiles of rows, tiles of columns, batch."""

import torch
import triton
import triton.language as tl

BLOCK_M, BLOCK_N, BLOCK_K = 128, 128, 64


@triton.jit
def bmm_relu_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    a_stride,
    b_stride,
    c_stride,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    batch = tl.program_id(2)
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_n = tl.program_id(1) * BN + tl.arange(0, BN)
    rows = (offs_m < m)[:, None]
    columns = (offs_n < n)[None, :]
    a_ptr += batch * a_stride
    b_ptr += batch * b_stride
    c_ptr += batch * c_stride
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        offs_k = start + tl.arange(0, BK)
        inside = offs_k < k
        a_at = a_ptr + offs_m[:, None] * k + offs_k[None, :]
        b_at = b_ptr + offs_k[:, None] * n + offs_n[None, :]
        a = tl.load(a_at, mask=rows & inside[None, :], other=0.0)
        b = tl.load(b_at, mask=inside[:, None] & columns, other=0.0)
        acc = tl.dot(a, b, acc)
    c = tl.maximum(acc, 0.0).to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + offs_m[:, None] * n + offs_n[None, :], c, mask=rows & columns)


def module_fn(a, b):
    batch, m, k = a.shape
    n = b.shape[2]
    c = torch.empty((batch, m, n), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(m, BLOCK_M), triton.cdiv(n, BLOCK_N), batch)
    bmm_relu_kernel[grid](
        a,
        b,
        c,
        m,
        n,
        k,
        a.stride(0),
        b.stride(0),
        c.stride(0),
        BM=BLOCK_M,
        BN=BLOCK_N,
        BK=BLOCK_K,
        num_warps=8,
        num_stages=2,
    )
    return c
