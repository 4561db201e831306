"""Matmul over block pointers: the transpose of B is a view of strides, edges are checked."""

import triton
import triton.language as tl


@triton.jit
def matmul_nt_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    stride_am,
    stride_bn,
    stride_cm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    a_block = tl.make_block_ptr(
        base=a_ptr,
        shape=(m, k),
        strides=(stride_am, 1),
        offsets=(pid_m * BM, 0),
        block_shape=(BM, BK),
        order=(1, 0),
    )
    b_block = tl.make_block_ptr(
        base=b_ptr,
        shape=(k, n),
        strides=(1, stride_bn),
        offsets=(0, pid_n * BN),
        block_shape=(BK, BN),
        order=(0, 1),
    )
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, k, BK):
        a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_block = tl.advance(a_block, (0, BK))
        b_block = tl.advance(b_block, (BK, 0))
    c_block = tl.make_block_ptr(
        base=c_ptr,
        shape=(m, n),
        strides=(stride_cm, 1),
        offsets=(pid_m * BM, pid_n * BN),
        block_shape=(BM, BN),
        order=(1, 0),
    )
    tl.store(c_block, acc, boundary_check=(0, 1))


def module_fn(a, b):
    m, k = a.shape
    n = b.shape[0]
    c = a.new_empty((m, n))
    block_m, block_n, block_k = 32, 64, 32
    grid = (triton.cdiv(m, block_m), triton.cdiv(n, block_n))
    matmul_nt_kernel[grid](
        a,
        b,
        c,
        m,
        n,
        k,
        a.stride(0),
        b.stride(0),
        c.stride(0),
        BM=block_m,
        BN=block_n,
        BK=block_k,
        num_warps=4,
    )
    return c
