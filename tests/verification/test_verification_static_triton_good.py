"""Ordinary public-style Triton modules pass the static gate without a reject."""

from __future__ import annotations

import pytest

from kernelvault.verification import static_triton

SOFTMAX = '''
"""Row softmax."""
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    """One program a row.

    The row fits one block.
    """
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(in_ptr + row * in_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(out_ptr + row * out_stride + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def module_fn(x: torch.Tensor) -> torch.Tensor:
    assert x.is_cuda or x.is_cpu, f"no device {x.device}"
    n_rows, n_cols = x.shape
    x = x.contiguous()
    y = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    num_warps = 4
    if block >= 2048:
        num_warps = 8
    softmax_kernel[(n_rows,)](y, x, x.stride(0), y.stride(0), n_cols, BLOCK=block,
                              num_warps=num_warps)
    return y


if __name__ == "__main__":
    import os
    print(module_fn(torch.randn(4, 4)), os.environ)
'''

MATMUL = """
from __future__ import annotations

from typing import Optional

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()
SIZES = [32, 64]


def get_configs():
    configs = []
    for warps in (4, 8):
        configs.append(triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=warps, num_stages=2))
    return configs


def prune(configs, named_args, **kwargs):
    kept = [c for c in configs if c.kwargs["BM"] <= max(16, named_args["M"])]
    return kept or configs[:1]


@triton.autotune(
    configs=[triton.Config({"BM": m, "BN": n, "BK": 32}, num_warps=4) for m in SIZES for n in SIZES]
    + get_configs(),
    key=["M", "N", "K"],
    prune_configs_by={"early_config_prune": prune},
)
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BK"] == 0})
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN_K: tl.constexpr,
    ACT: tl.constexpr = "",
):
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)
    rm = (pid_m * BM + tl.arange(0, BM)) % M
    rn = (pid_n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        if EVEN_K:
            a = tl.load(a_ptr + rm[:, None] * sam + (k * BK + rk)[None, :] * sak)
            b = tl.load(b_ptr + (k * BK + rk)[:, None] * sbk + rn[None, :] * sbn)
        else:
            left = rk < K - k * BK
            a = tl.load(a_ptr + rm[:, None] * sam + (k * BK + rk)[None, :] * sak,
                        mask=left[None, :], other=0.0)
            b = tl.load(b_ptr + (k * BK + rk)[:, None] * sbk + rn[None, :] * sbn,
                        mask=left[:, None], other=0.0)
        acc += tl.dot(a, b)
    if ACT == "leaky_relu":
        acc = leaky_relu(acc)
    om = pid_m * BM + tl.arange(0, BM)
    on = pid_n * BN + tl.arange(0, BN)
    mask = (om[:, None] < M) & (on[None, :] < N)
    tl.store(c_ptr + om[:, None] * scm + on[None, :] * scn, acc.to(c_ptr.dtype.element_ty), mask)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


def matmul(a, b, activation: Optional[str] = ""):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    grid = lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]))
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), ACT=activation)
    return c


def module_fn(a, b):
    with torch.cuda.device(a.device):
        return matmul(a, b.t().contiguous().t(), activation="leaky_relu")
"""

LAYERNORM = """
import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

MAX_BLOCK = 65536 // 2
EPS: tl.constexpr = tl.constexpr(1e-5)
TYPES = {torch.float16: tl.float16, torch.float32: tl.float32}


@triton.jit
def _mean(x, mask, n):
    return tl.sum(tl.where(mask, x, 0.0), axis=0) / n


@triton.jit
def _layer_norm(x_ptr, w_ptr, b_ptr, y_ptr, stride, n, eps, BLOCK: tl.constexpr,
                HAS_BIAS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = _mean(x, mask, n)
    centred = tl.where(mask, x - mean, 0.0)
    rstd = libdevice.rsqrt(_mean(centred * centred, mask, n) + eps)
    y = centred * rstd * tl.load(w_ptr + cols, mask=mask)
    if HAS_BIAS:
        y += tl.load(b_ptr + cols, mask=mask)
    tl.store(y_ptr + row * stride + cols, libdevice.tanh(y), mask=mask)


def module_fn(x, weight, bias=None, eps=1e-5):
    flat = x.reshape(-1, x.shape[-1]).to(x.device)
    rows, n = flat.shape
    if triton.next_power_of_2(n) > MAX_BLOCK:
        raise RuntimeError("rows over 64 KiB are not supported")
    y = torch.empty(flat.shape, dtype=x.dtype, device=x.device)
    block = max(16, 2 ** math.ceil(math.log2(n)))
    _layer_norm[(rows,)](flat, weight, bias if bias is not None else weight, y, flat.stride(0), n,
                         eps, BLOCK=block, HAS_BIAS=bias is not None,
                         num_warps=min(max(block // 256, 1), 8))
    return y.view(x.shape)
"""

MODEL_NEW = '''
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def linear_relu(x, w, b, out, n, k, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1)
    offs = tl.arange(0, BLOCK)
    mask = offs < k
    dot = tl.sum(tl.load(x + row * k + offs, mask, 0.0) * tl.load(w + col * k + offs, mask, 0.0))
    tl.store(out + row * n + col, tl.maximum(dot + tl.load(b + col), 0.0))


class ModelNew(nn.Module):
    """A linear layer and a ReLU in one kernel."""

    BLOCK_LIMIT = 4096

    def __init__(self, in_features: int, out_features: int):
        super(ModelNew, self).__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = nn.Parameter(torch.randn(out_features) * 0.02)
        self.out_features = out_features
        self.register_buffer("steps", torch.zeros(1))
        nn.init.zeros_(self.linear.bias)

    def _block(self, k):
        return min(triton.next_power_of_2(k), self.BLOCK_LIMIT)

    def forward(self, x):
        m, k = x.shape
        out = x.new_empty((m, self.out_features))
        linear_relu[(m, self.out_features)](
            x, self.linear.weight, self.linear.bias, out, self.out_features, k,
            BLOCK=self._block(k),
        )
        return out


def get_inputs():
    return [torch.randn(16, 32)]


def get_init_inputs():
    return [32, 8]
'''

HISTOGRAM = """
import torch
import triton
from triton import language as tl
from torch import Tensor


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, bins: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    bucket = tl.load(x_ptr + offs, mask=mask, other=0).to(tl.int32)
    tl.atomic_add(out_ptr + bucket, 1, mask=mask & (bucket < bins), sem="relaxed")


def module_fn(x: Tensor, bins: int, *rest) -> tuple[Tensor, ...]:
    n = x.numel()
    out = torch.zeros(bins, dtype=torch.int32, device=x.device)
    sizes = {}
    sizes["BLOCK"] = 1024

    def grid(meta):
        return (triton.cdiv(n, meta["BLOCK"]),)

    histogram_kernel[grid](x.flatten(), out, n, bins, **sizes)
    return (out,)
"""

PERSISTENT = """
import torch
import triton
import triton.language as tl

properties = triton.runtime.driver.active.utils.get_device_properties(0)
NUM_SM = properties["multiprocessor_count"]
WARPS = {"small": 4, "large": 8}


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    tl.static_assert(BLOCK % 16 == 0)
    start = tl.program_id(0)
    for block in tl.range(start, tl.cdiv(n, BLOCK), PROGRAMS, num_stages=2):
        offs = block * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        x = tl.load(x_ptr + offs, mask=mask)
        tl.store(out_ptr + offs, x + tl.load(y_ptr + offs, mask=mask), mask=mask)


def programs(device):
    return torch.cuda.get_device_properties(device).multi_processor_count


@torch.no_grad()
def module_fn(x, y, /):
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    n = out.numel()
    count = min(programs(x.device), triton.cdiv(n, 1024))
    add_kernel[(count, 1, 1)](x, y, out, n, BLOCK=1024, PROGRAMS=count,
                              num_warps=WARPS["small"] if n < 4096 else WARPS.get("large"))
    return out
"""

GOOD = {
    "softmax": (SOFTMAX, 1, 0),
    "matmul": (MATMUL, 2, 0),
    "layernorm": (LAYERNORM, 3, 1),
    "model_new": (MODEL_NEW, 1, 0),
    "histogram": (HISTOGRAM, 1, 1),
    "persistent": (PERSISTENT, 2, 0),
}


@pytest.mark.parametrize("name", GOOD)
def test_public_style_modules_pass(name: str) -> None:
    found = static_triton.parse_findings(*GOOD[name])
    assert [f for f in found if f.severity != "telemetry"] == []


def test_code_that_is_not_used_is_reported_mildly() -> None:
    found = static_triton.parse_findings(*GOOD["model_new"])
    rules = {(f.rule, f.severity) for f in found}
    assert {("unreachable", "telemetry"), ("tensor_compute", "telemetry")} <= rules
    assert ("main_guard", "telemetry") in {
        (f.rule, f.severity) for f in static_triton.parse_findings(*GOOD["softmax"])
    }


def test_evidence_has_the_keys_of_the_gate() -> None:
    found = static_triton.parse_findings("", 1, 0)
    evidence = static_triton.evidence(found)
    assert evidence["undefined_symbols"] is None
    assert evidence["forbidden_symbols"] == []
    (finding,) = evidence["findings"]
    assert finding["rule"] == "missing_module_fn"
    assert set(finding) == {"rule", "severity", "line", "message"}
