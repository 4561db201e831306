"""The next group is thought to start at a whole tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def grouped_gemm_kernel(
    a_ptr,
    b_ptr,
    sizes_ptr,
    c_ptr,
    groups,
    k,
    n,
    total,
    PROGRAMS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    tile = tl.program_id(0)
    tiles_n = tl.cdiv(n, BN)
    first_tile = 0
    first_row = 0
    for group in range(groups):
        size = tl.load(sizes_ptr + group)
        end_tile = first_tile + tl.cdiv(size, BM) * tiles_n
        while tile < end_tile:
            local = tile - first_tile
            offs_m = (local // tiles_n) * BM + tl.arange(0, BM)
            offs_n = (local % tiles_n) * BN + tl.arange(0, BN)
            row = (first_row + offs_m)[:, None]
            inside_m = (offs_m < size)[:, None] & (row < total)
            inside_n = (offs_n < n)[None, :]
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, k, BK):
                offs_k = start + tl.arange(0, BK)
                a = tl.load(
                    a_ptr + row * k + offs_k[None, :],
                    mask=inside_m & (offs_k < k)[None, :],
                    other=0.0,
                )
                b = tl.load(
                    b_ptr + group * k * n + offs_k[:, None] * n + offs_n[None, :],
                    mask=(offs_k < k)[:, None] & inside_n,
                    other=0.0,
                )
                acc = tl.dot(a, b, acc, input_precision="ieee")
            tl.store(c_ptr + row * n + offs_n[None, :], acc, mask=inside_m & inside_n)
            tile += PROGRAMS
        first_tile = end_tile
        first_row += tl.cdiv(size, BM) * BM


def module_fn(a, b, sizes):
    groups, k, n = b.shape
    c = torch.empty((a.shape[0], n), device=a.device, dtype=a.dtype)
    programs = 4
    grouped_gemm_kernel[(programs,)](
        a, b, sizes, c, groups, k, n, a.shape[0], PROGRAMS=programs, BM=32, BN=64, BK=32
    )
    return c
