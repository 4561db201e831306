"""Rows: reductions, scans, sorting, shapes, matrix products, memory, atomics."""

import torch

from operation import ALL, FLOATS, INTEGERS, NUMBERS, Operation


def _row(group: str):
    def row(name, body, reference, dtypes=NUMBERS, **options):
        return Operation(group, name, body, reference, dtypes, **options)

    return row


def m(a):
    return a.view(16, 16)


ADD = "def _add(p, q):\n    return p + q\n"
LARGER = "def _larger(p, q):\n    return tl.maximum(p, q)\n"
BRANCHING = """
def _pick(p, q):
    if p > q:
        s = p
    else:
        s = q
    return s
"""
WELFORD = """
def _pair(m1, n1, m2, n2):
    n = n1 + n2
    return (m1 * n1 + m2 * n2) / n, n
"""
LINEAR = """
def _linear(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2
"""

reduction = _row("reductions")
REDUCTIONS = [
    reduction("sum", "tl.sum(a, 0)", lambda a, b, c: a.sum(), size=1, inputs="small", factor=64),
    reduction("sum of rows", "tl.sum(A, 1)", lambda a, b, c: m(a).sum(1), size=16, inputs="small", factor=16),
    reduction("sum of columns", "tl.sum(A, axis=0)", lambda a, b, c: m(a).sum(0), size=16, inputs="small", factor=16),
    reduction("sum of all", "tl.sum(A)", lambda a, b, c: a.sum(), size=1, inputs="small", factor=64),
    reduction("sum, kept dimension", "tl.reshape(A - tl.sum(A, 1, keep_dims=True), [256])",
              lambda a, b, c: m(a) - m(a).sum(1, keepdim=True), inputs="small", factor=32),
    reduction("sum in float32", "tl.sum(A, 1, dtype=tl.float32)", lambda a, b, c: m(a).sum(1), FLOATS, size=16, out="float32", factor=16),
    reduction("max", "tl.max(A, 1)", lambda a, b, c: m(a).max(1)[0], size=16),
    reduction("min", "tl.min(A, 0)", lambda a, b, c: m(a).min(0)[0], size=16),
    reduction("argmax, first of equals", "tl.argmax(A, 1)", lambda a, b, c: _first(m(a), True), size=16, out="int32", inputs="ties"),
    reduction("argmin, first of equals", "tl.argmin(A, 1)", lambda a, b, c: _first(m(a), False), size=16, out="int32", inputs="ties"),
    reduction("max with its index", "v, k = tl.max(A, 1, return_indices=True)\nr = v + k",
              lambda a, b, c: m(a).max(1)[0] + _first(m(a), True), size=16, inputs="ties", factor=4),
    reduction("xor_sum", "tl.xor_sum(A, 1)", lambda a, b, c: _xor(m(a)), INTEGERS, size=16),
    reduction("reduce_or", "tl.reduce_or(A, 1)", lambda a, b, c: _fold(m(a), torch.bitwise_or), INTEGERS, size=16),
    reduction("own sum", "tl.reduce(A, 1, _add)", lambda a, b, c: m(a).sum(1), size=16, helpers=ADD, inputs="small", factor=16),
    reduction("own maximum", "tl.reduce(a, 0, _larger)", lambda a, b, c: a.max(), size=1, helpers=LARGER),
    reduction("own, with a branch", "tl.reduce(A, 1, _pick)", lambda a, b, c: m(a).max(1)[0], size=16, helpers=BRANCHING),
    reduction("own, of a tuple", "v, k = tl.reduce((A, tl.full([16, 16], 1.0, x.dtype.element_ty)), 1, _pair)\nr = v",
              lambda a, b, c: m(a).mean(1), ("float32", "float64"), size=16, helpers=WELFORD, factor=16),
]  # fmt: skip


def _first(a, largest):
    best = (a.amax if largest else a.amin)(1, keepdim=True)
    return (a == best).long().argmax(1)


def _fold(a, operation):
    out = a[:, 0]
    for k in range(1, a.shape[1]):
        out = operation(out, a[:, k])
    return out


def _xor(a):
    return _fold(a, torch.bitwise_xor)


def _linear(a, b):
    state, out = torch.zeros(16, dtype=a.dtype), []
    for k in range(16):
        state = m(a)[:, k] * state + m(b)[:, k]
        out.append(state)
    return torch.stack(out, 1)


scan = _row("scans")
SCANS = [
    scan("cumsum", "tl.cumsum(a, 0)", lambda a, b, c: a.cumsum(0), inputs="small", factor=64),
    scan("cumsum of rows", "tl.reshape(tl.cumsum(A, 1), [256])", lambda a, b, c: m(a).cumsum(1), inputs="small", factor=16),
    scan("cumsum, reversed", "tl.reshape(tl.cumsum(A, 1, reverse=True), [256])",
         lambda a, b, c: m(a).flip(1).cumsum(1).flip(1), inputs="small", factor=16),
    scan("cumprod", "tl.reshape(tl.cumprod(A, 1), [256])", lambda a, b, c: m(a).cumprod(1), inputs="unit", factor=16),
    scan("own sum", "tl.reshape(tl.associative_scan(A, 0, _add), [256])", lambda a, b, c: m(a).cumsum(0),
         helpers=ADD, inputs="small", factor=16),
    scan("own maximum, reversed", "tl.associative_scan(a, 0, _larger, reverse=True)",
         lambda a, b, c: a.flip(0).cummax(0)[0].flip(0), helpers=LARGER),
    scan("own, with a branch", "tl.associative_scan(a, 0, _pick)", lambda a, b, c: a.cummax(0)[0], helpers=BRANCHING),
    scan("own, of a tuple", "p, q = tl.associative_scan((A, B), 1, _linear)\nr = tl.reshape(q, [256])",
         lambda a, b, c: _linear(a, b), FLOATS, helpers=LINEAR, inputs="unit", factor=16),
]  # fmt: skip

shape = _row("order and shape")
ORDER = [
    shape("sort", "tl.sort(a)", lambda a, b, c: a.sort()[0]),
    shape("sort, descending", "tl.reshape(tl.sort(A, descending=True), [256])", lambda a, b, c: m(a).sort(1, descending=True)[0]),
    shape("topk", "tl.topk(a, 8)", lambda a, b, c: a.topk(8)[0], size=8),
    shape("flip", "tl.flip(a, 0)", lambda a, b, c: a.flip(0)),
    shape("flip of rows", "tl.reshape(tl.flip(A, 1), [256])", lambda a, b, c: m(a).flip(1)),
    shape("gather", "tl.gather(a, (i * 7) % 256, 0)", lambda a, b, c: a[(torch.arange(256) * 7) % 256], ALL),
    shape("histogram", "tl.histogram(a, 16)", lambda a, b, c: torch.bincount(a.long(), minlength=16), INTEGERS, out="int32", size=16, inputs="bins"),
    shape("histogram of some", "tl.histogram(a, 16, mask=i < 100)", lambda a, b, c: torch.bincount(a[:100].long(), minlength=16),
          INTEGERS, out="int32", size=16, inputs="bins"),
    shape("join", "tl.reshape(tl.join(a, b), [512])", lambda a, b, c: torch.stack([a, b], 1), ALL, size=512),
    shape("split", "p, q = tl.split(tl.reshape(a, [128, 2]))\nr = p - q", lambda a, b, c: a[0::2] - a[1::2], size=128),
    shape("cat", "tl.cat(a, b, can_reorder=True)", lambda a, b, c: torch.cat([a, b]), size=512),
    shape("interleave", "tl.interleave(a, b)", lambda a, b, c: torch.stack([a, b], 1), size=512),
    shape("transpose", "tl.reshape(tl.trans(A), [256])", lambda a, b, c: m(a).t(), ALL),
    shape("permute", "tl.reshape(tl.permute(tl.reshape(a, [4, 8, 8]), (2, 0, 1)), [256])",
          lambda a, b, c: a.view(4, 8, 8).permute(2, 0, 1)),
    shape("broadcast", "tl.reshape(tl.broadcast_to(tl.load(x + q)[None, :], [16, 16]) + B, [256])",
          lambda a, b, c: a[:16] + m(b)),
    shape("expand_dims", "tl.reshape(tl.expand_dims(tl.load(x + q), 1) * B, [256])", lambda a, b, c: a[:16, None] * m(b)),
    shape("map_elementwise", "tl.map_elementwise(_pick, a, b)", lambda a, b, c: torch.maximum(a, b), helpers=BRANCHING),
]  # fmt: skip

DOTS_IN = ("float32", "float16", "bfloat16", "float64", "int8", "uint8")
product = _row("matrix products")


def _store(text: str) -> str:
    return f"tl.reshape({text}, [256])"


def _tf32(a):
    bits = a.float().view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32).double()


SCALED = """j = tl.arange(0, WIDTH)
P = tl.load(x + (q[:, None] * WIDTH + j[None, :]) % 256) & 63
Q = tl.load(y + (j[:, None] * 16 + q[None, :]) % 256) & 63
s = tl.full([16, 2], 126, tl.uint8)
t = tl.full([16, 2], 128, tl.uint8)
r = tl.reshape(tl.dot_scaled(P, s, "STYLE", Q, t, "STYLE"), [256])"""
FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)


def _scaled(a, b, style):
    width = 32 if style == "e2m1" else 64
    p = (a[(torch.arange(16 * width)) % 256] & 63).view(16, width)
    q = (b[(torch.arange(16 * width)) % 256] & 63).view(width, 16)
    if style == "e2m1":
        p = torch.stack([FP4[p & 15], FP4[p >> 4]], 2).view(16, 64)
        q = torch.stack([FP4[q & 15], FP4[q >> 4]], 1).view(64, 16)
        return p @ q
    kind = torch.float8_e5m2 if style == "e5m2" else torch.float8_e4m3fn
    return p.to(torch.uint8).view(kind).double() @ q.to(torch.uint8).view(kind).double()


def _three(a, b, c):
    upper = [m(v).bfloat16().double() for v in (a, b)]
    lower = [(m(v) - u).bfloat16().double() for v, u in zip((a, b), upper, strict=True)]
    return upper[0] @ upper[1] + upper[0] @ lower[1] + lower[0] @ upper[1]


PRODUCTS = [
    product("dot, ieee", _store('tl.dot(A, B, input_precision="ieee")'), lambda a, b, c: m(a) @ m(b), DOTS_IN, out="wide", factor=64),
    product("dot, default of gfx942", _store("tl.dot(A, B)"), lambda a, b, c: _tf32(m(a)) @ _tf32(m(b)), ("float32",), out="wide", factor=64),
    product("dot, tf32", _store('tl.dot(A, B, input_precision="tf32")'), lambda a, b, c: _tf32(m(a)) @ _tf32(m(b)), ("float32",), out="wide", factor=64),
    product("dot, bf16x6", _store('tl.dot(A, B, input_precision="bf16x6")'), lambda a, b, c: m(a) @ m(b), ("float32",), out="wide", factor=64),
    product("dot, bf16x3", _store('tl.dot(A, B, input_precision="bf16x3")'), _three, ("float32",), out="wide", factor=64),
    product("dot with an accumulator", _store("tl.dot(A, B, tl.full([16, 16], 1.0, tl.float32))"), lambda a, b, c: m(a) @ m(b) + 1,
            ("float16", "bfloat16"), out="float32", factor=64),
    product("dot, result in float16", _store("tl.dot(A, B, input_precision='ieee', out_dtype=tl.float16)"), lambda a, b, c: m(a) @ m(b), FLOATS, factor=16, inputs="unit"),
    product("dot of batches", _store("tl.dot(tl.reshape(a, [4, 8, 8]), tl.reshape(b, [4, 8, 8]), input_precision='ieee')"),
            lambda a, b, c: a.view(4, 8, 8) @ b.view(4, 8, 8), DOTS_IN, out="wide", factor=64),
    product("dot through float8e4nv", _store("tl.dot(A.to(tl.float8e4nv), B.to(tl.float8e4nv))"),
            lambda a, b, c: m(a).float().to(torch.float8_e4m3fn).double() @ m(b).float().to(torch.float8_e4m3fn).double(),
            FLOATS, out="float32", factor=64),
    *(product(f"dot_scaled, {style}", SCALED.replace("STYLE", style).replace("WIDTH", "32" if style == "e2m1" else "64"),
              lambda a, b, c, style=style: _scaled(a, b, style), ("uint8",), out="float32", factor=64)
      for style in ("e5m2", "e4m3", "e2m1")),
    product("inline assembly", 'tl.inline_asm_elementwise("v_mov_b32 $0, $1;", "=v,v", [a], dtype=tl.float32, is_pure=True, pack=1)',
            lambda a, b, c: a, ("float32",)),
]  # fmt: skip

memory = _row("memory")
POINTER = ("p = tl.make_block_ptr(x, (15, 14), (16, 1), (0, 0), (16, 16), (1, 0))\n"
           "r = tl.reshape(tl.load(p, boundary_check=(0, 1), padding_option='zero'), [256])")  # fmt: skip
DESCRIPTOR = "d = tl.make_tensor_descriptor(x, [15, 16], [16, 1], [16, 16])\nr = tl.reshape(d.load([1, 0]), [256])"
WRITE = "d = tl.make_tensor_descriptor(o, [8, 16], [16, 1], [16, 16])\nd.store([0, 0], A)"


def _inside(a, rows, columns):
    out = torch.zeros_like(m(a))
    out[:rows, :columns] = m(a)[:rows, :columns]
    return out


def _below(a):
    return torch.cat([m(a)[1:15], torch.zeros(2, 16, dtype=a.dtype)])


MEMORY = [
    memory("masked load", "tl.load(x + i, mask=i < 100, other=1)", lambda a, b, c: torch.where(torch.arange(256) < 100, a, 1)),
    memory("masked store", "tl.store(o + i, a, mask=i < 100)", lambda a, b, c: torch.where(torch.arange(256) < 100, a, 0), ALL, size=-256),
    memory("strided load", "tl.load(x + (i * 3) % 256)", lambda a, b, c: a[(torch.arange(256) * 3) % 256], ALL),
    memory("scalar load and store", "tl.store(o, tl.load(x + 5) + tl.load(y))", lambda a, b, c: (a[5] + b[0])[None], size=-1),
    memory("block pointer", POINTER, lambda a, b, c: _inside(a, 15, 14)),
    memory("block pointer, NaN beyond", POINTER.replace("'zero'", "'nan'").replace("[256])", "[256])\nr = tl.where(r == r, r, 7)"),
           lambda a, b, c: torch.where(_inside(torch.ones_like(a), 15, 14).bool(), m(a), 7), FLOATS),
    memory("tensor descriptor, load", DESCRIPTOR, lambda a, b, c: _below(a)),
    memory("tensor descriptor, store", WRITE, lambda a, b, c: _inside(a, 8, 16), size=-256),
]  # fmt: skip

atomic = _row("atomics")
HALVES = (*FLOATS, "int32", "uint32", "int64", "int8")


def _atomic(name, operation, reference, **options):
    body = f"tl.store(o + i, b)\nold = {operation}\ntl.store(o + 256 + i, old)"
    return atomic(name, body, lambda a, b, c: torch.cat([reference(a, b), b]), HALVES, size=-512, **options)


ATOMICS = [
    _atomic("atomic_add", "tl.atomic_add(o + i, a)", lambda a, b: a + b),
    _atomic("atomic_max", "tl.atomic_max(o + i, a)", torch.maximum),
    _atomic("atomic_min", "tl.atomic_min(o + i, a)", torch.minimum),
    _atomic("atomic_xchg", "tl.atomic_xchg(o + i, a)", lambda a, b: a),
    _atomic("atomic_and", "tl.atomic_and(o + i, a)", lambda a, b: a & b),
    _atomic("atomic_or", "tl.atomic_or(o + i, a)", lambda a, b: a | b),
    _atomic("atomic_xor", "tl.atomic_xor(o + i, a)", lambda a, b: a ^ b),
    _atomic("atomic_cas", "tl.atomic_cas(o + i, b, a)", lambda a, b: a),
    _atomic("atomic_cas of other values", "tl.atomic_cas(o + i, b + 1, a)", lambda a, b: b),
    atomic("atomic_add at one address", "tl.store(o, tl.load(y))\ntl.atomic_add(o + i * 0, a)", lambda a, b, c: (a.sum() + b[0])[None],
           HALVES, size=-1, inputs="small", factor=256),
]  # fmt: skip

ROWS = [*REDUCTIONS, *SCANS, *ORDER, *PRODUCTS, *MEMORY, *ATOMICS]
__all__ = ["ROWS"]
