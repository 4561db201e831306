"""The causal mask hides the diagonal as well."""

import torch
import triton
import triton.language as tl

LOG2_E = 1.4426950408889634


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    scale_log2,
    stride_head,
    stride_row,
    length,
    BM: tl.constexpr,
    BN: tl.constexpr,
    CHANNELS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    block = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * stride_head
    offs_m = block * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, CHANNELS)

    rows = base + offs_m[:, None] * stride_row + offs_d[None, :]
    q = tl.load(q_ptr + rows, mask=offs_m[:, None] < length, other=0.0)
    peak = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, CHANNELS), dtype=tl.float32)

    end = min(length, (block + 1) * BM) if CAUSAL else length
    for start in range(0, end, BN):
        key = start + offs_n
        k_at = base + key[None, :] * stride_row + offs_d[:, None]
        k = tl.load(k_ptr + k_at, mask=key[None, :] < length, other=0.0)
        scores = tl.dot(q, k) * scale_log2
        visible = key[None, :] < length
        if CAUSAL:
            visible = visible & (offs_m[:, None] > key[None, :])
        scores = tl.where(visible, scores, -1.0e6)

        new_peak = tl.maximum(peak, tl.max(scores, axis=1))
        p = tl.exp2(scores - new_peak[:, None])
        rescale = tl.exp2(peak - new_peak)
        total = total * rescale + tl.sum(p, axis=1)
        v_at = base + key[:, None] * stride_row + offs_d[None, :]
        v = tl.load(v_ptr + v_at, mask=key[:, None] < length, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None])
        peak = new_peak

    out = acc / total[:, None]
    tl.store(o_ptr + rows, out.to(o_ptr.dtype.element_ty), mask=offs_m[:, None] < length)


def module_fn(q, k, v, scale, causal):
    heads, length, channels = q.shape
    o = torch.empty_like(q)
    block_m, block_n = 64, 32
    attention_kernel[(triton.cdiv(length, block_m), heads)](
        q,
        k,
        v,
        o,
        scale * LOG2_E,
        q.stride(0),
        q.stride(1),
        length,
        BM=block_m,
        BN=block_n,
        CHANNELS=channels,
        CAUSAL=causal,
        num_warps=4,
        num_stages=1,
    )
    return o
