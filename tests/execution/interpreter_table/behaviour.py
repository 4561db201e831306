"""What the repaired interpreter does beyond numbers; prints one answer a question as JSON.

Arguments: the folder that holds the package `interpreter`.
"""

import json
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, sys.argv[1])

import interpreter
import numpy as np
import torch
import triton
import triton.language as tl
from triton.language import load
from triton.tools.tensor_descriptor import TensorDescriptor

SEEN: list[list[object]] = []
ALLOWED: list[tuple[int, int]] = []


class Outside(Exception):
    """An access beyond the allowed memory."""


class Guard:
    """Records accesses; raises beyond `ALLOWED` when there is any."""

    def check(self, addresses, itemsize, mask, access):
        SEEN.append([access, itemsize, int(mask.sum()), list(mask.shape)])
        active = addresses[mask]
        if ALLOWED and not all(any(low <= int(n) and int(n) + itemsize <= high for low, high in ALLOWED) for n in active.reshape(-1)):
            raise Outside(access)


def memory(*tensors):
    return [(t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in tensors]


@triton.jit
def copy(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def every_access(x, o, n):
    i = tl.arange(0, 16)
    v = tl.load(x) + tl.load(x + i, mask=i < n)
    p = tl.make_block_ptr(x, (4, 16), (16, 1), (0, 0), (4, 16), (1, 0))
    w = tl.load(p, boundary_check=(0, 1))
    d = tl.make_tensor_descriptor(x, [4, 16], [16, 1], [4, 16])
    d.store([0, 0], w)
    tl.atomic_add(o + i, v, mask=i < n)
    tl.atomic_cas(o + i, v, v)


@triton.jit
def scaled(x, o, factor, flag):
    i = tl.arange(0, 16)
    v = load(x + i) * factor
    if flag:
        v = v + 1
    tl.store(o + i, v)


@triton.jit
def asserting(x):
    i = tl.arange(0, 16)
    tl.device_assert(tl.load(x + i) > 0, "x is positive")


@triton.jit
def printing(x):
    for k in range(1000):
        tl.device_print("value", tl.load(x) + k)
        print("again", k)  # noqa: T201


@triton.jit
def static(x, B: tl.constexpr):
    tl.static_assert(B > 16, "B is too small")


@triton.jit
def assembly(x):
    i = tl.arange(0, 16)
    tl.inline_asm_elementwise("v_mov_b32 $0, $1;", "=v,v", [tl.load(x + i)], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def block_condition(x, o):
    i = tl.arange(0, 16)
    if tl.load(x + i) > 0:
        tl.store(o + i, 1.0)


@triton.jit
def row(d, o):
    i = tl.arange(0, 16)
    tl.store(o + i, tl.reshape(d.load([1, 0]), [16]))


@triton.jit
def number(o):
    pid = tl.program_id(0) + tl.num_programs(0) * tl.program_id(1)
    tl.store(o + pid, pid * 2)


@triton.jit
def big(o, n):
    tl.store(o, n + 1)


@triton.jit
def quoted(o, B: "tl.constexpr", n: "i64"):  # noqa: F821
    value: tl.float32 = 0.5
    tl.store(o + tl.arange(0, B), value * n)


@triton.jit
def half_sum(x, o):
    i = tl.arange(0, 64)
    tl.store(o, tl.reduce(tl.load(x + i), 0, plus))


@triton.jit
def plus(p, q):
    return p + q


@triton.jit
def double(x, o):
    i = tl.arange(0, 16)
    v = tl.load(x + i)
    tl.store(o + i, v + v)


@triton.jit
def rows(x, o):
    i = tl.arange(0, 16)
    third = tl.arange(0, 8) * 3
    d = tl.make_tensor_descriptor(x, [32, 16], [16, 1], [1, 16])
    v = d.gather(third, 0)
    tl.store(o + tl.arange(0, 8)[:, None] * 16 + i[None, :], v)
    d.scatter(v * 0, third, 0)
    whole = tl.make_tensor_descriptor(o, [8, 16], [16, 1], [8, 16])
    whole.atomic_add([0, 0], tl.full([8, 16], 2.0, tl.float32))


@triton.jit
def grouped(o, M, N, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    first = pid // (GROUP * N) * GROUP
    size = min(M - first, GROUP)
    tl.store(o + pid, (first + pid % (GROUP * N) % size) * 100 + pid % (GROUP * N) // size)


def enclosed():
    WIDTH = tl.constexpr(16)

    @triton.jit
    def kernel(o):
        i = tl.arange(0, WIDTH)
        tl.store(o + i, i)

    return kernel


ANSWERS: dict[str, object] = {}


def ask(name):
    def decorate(function):
        SEEN.clear()
        ALLOWED.clear()
        try:
            ANSWERS[name] = function()
        except Exception as error:
            ANSWERS[name] = [type(error).__name__, str(error)]
        return function

    return decorate


def main():
    interpreter.install(GUARD)
    x, o = torch.arange(1.0, 17), torch.zeros(16)

    @ask("same guard again")
    def _():
        return interpreter.install(GUARD)

    @ask("other guard")
    def _():
        return interpreter.install(Guard())

    @ask("accesses")
    def _():
        every_access[(1,)](torch.ones(64), torch.zeros(16), 5)
        return list(SEEN)

    @ask("inside")
    def _():
        ALLOWED.extend(memory(x, o))
        copy[(1,)](x, o, 16, 64)
        return torch.equal(x, o)

    @ask("outside")
    def _():
        ALLOWED.extend(memory(x, o))
        copy[(1,)](x, o, 17, 64)

    @ask("float argument is float32")
    def _():
        out = torch.zeros(16)
        scaled[(1,)](x.bfloat16(), out, 1.001, False)
        return float((out - x * np.float32(1.001)).abs().max())

    @ask("bool argument")
    def _():
        out = torch.zeros(16)
        scaled[(1,)](x, out, 1.0, True)
        return torch.equal(out, x + 1)

    @ask("int argument beyond 32 bits")
    def _():
        out = torch.zeros(1, dtype=torch.int64)
        big[(1,)](out, 2**31)
        big[(1,)](out, int(out))
        return int(out)

    @ask("int argument wraps at 32 bits")
    def _():
        out = torch.zeros(1, dtype=torch.int64)
        big[(1,)](out, 2**31 - 1)
        return int(out)

    @ask("grid")
    def _():
        out = torch.zeros(6, dtype=torch.int32)
        number[lambda meta: (3, 2)](out, num_warps=4)
        return out.tolist()

    ask("device assertion")(lambda: asserting[(1,)](-x))
    ask("static assertion")(lambda: static[(1,)](x, 16))
    ask("assembly")(lambda: assembly[(1,)](x))
    ask("block condition")(lambda: block_condition[(1,)](x, o))
    ask("printing")(lambda: printing[(1,)](x))
    ask("tensor elsewhere")(lambda: copy[(1,)](torch.empty(16, device="meta"), o, 16, 16))

    @ask("host descriptor")
    def _():
        row[(1,)](TensorDescriptor.from_tensor(torch.arange(32.0).view(2, 16), [1, 16]), o)
        return o.tolist()

    @ask("closure")
    def _():
        enclosed()[(1,)](o)
        return o.tolist()

    @ask("fp8 in memory")
    def _():
        eight, out = x.to(torch.float8_e5m2fnuz), torch.zeros(16).to(torch.float8_e5m2fnuz)
        copy[(1,)](eight, out, 9, 16)
        return torch.equal(out.float()[:9], eight.float()[:9]) and not out.float()[9:].any()

    @ask("descriptor rows")
    def _():
        table, out = torch.rand(32, 16) + 1, torch.zeros(8, 16)
        before = table.clone()
        rows[(1,)](table, out)
        return torch.equal(out, before[:24:3] + 2) and not table[:24:3].any() and torch.equal(table[1::3], before[1::3])

    @ask("grouped programs")
    def _():
        out = torch.zeros(12, dtype=torch.int32)
        grouped[(12,)](out, 4, 3, 2)
        return out.tolist()

    @ask("quoted annotations")
    def _():
        quoted[(1,)](o, 16, 3)
        return o.tolist()

    @ask("refusals that were caught")
    def _():
        return len(interpreter.refusals())

    @ask("sixteen-bit sums round at each step")
    def _():
        ones = torch.full((64,), 1.0).bfloat16()
        ones[0] = 256
        out = torch.zeros(1)
        half_sum[(1,)](ones, out)
        return float(out)

    ask("fp8 sum")(lambda: double[(1,)](x.to(torch.float8_e5m2), o))

    sys.stdout.write(json.dumps(ANSWERS))


GUARD = Guard()
main()
