"""Rows: arithmetic, comparisons, booleans, bits, mathematics, conversions, control flow."""

import torch

from operation import ALL, FLOATS, INTEGERS, NUMBERS, Operation

SIGNED = (*FLOATS, "int8", "int32", "int64")
WIDE = ("float32", "float64")
NARROW = ("float32", "float16", "bfloat16")


def _row(group: str):
    def row(name, body, reference, dtypes=NUMBERS, **options):
        return Operation(group, name, body, reference, dtypes, **options)

    return row


arithmetic = _row("arithmetic")
ARITHMETIC = [
    arithmetic("add", "a + b", lambda a, b, c: a + b, ALL),
    arithmetic("subtract", "a - b", lambda a, b, c: a - b, ALL),
    arithmetic("multiply", "a * b", lambda a, b, c: a * b, ALL),
    arithmetic("divide", "a / b", lambda a, b, c: a / b, FLOATS),
    arithmetic("divide integers", "a / b", lambda a, b, c: a.float() / b.float(), INTEGERS, out="float32"),
    arithmetic("floor divide", "a // b", lambda a, b, c: torch.div(a, b, rounding_mode="trunc")),
    arithmetic("remainder", "a % b", lambda a, b, c: torch.fmod(a, b), factor=8),
    arithmetic("negate", "-a", lambda a, b, c: -a),
    arithmetic("absolute value", "tl.abs(a)", lambda a, b, c: a.abs(), SIGNED),
    arithmetic("maximum", "tl.maximum(a, b)", lambda a, b, c: torch.maximum(a, b), ALL),
    arithmetic("minimum", "tl.minimum(a, b)", lambda a, b, c: torch.minimum(a, b), ALL),
    arithmetic("Python's max", "max(a, b)", lambda a, b, c: torch.maximum(a, b)),
    arithmetic("Python's min of three", "min(a, b, c)", lambda a, b, c: torch.minimum(torch.minimum(a, b), c)),
    arithmetic("maximum ignores NaN", "tl.maximum(a / (a - a), b)", lambda a, b, c: b, WIDE, inputs="zero"),
    arithmetic("maximum keeps NaN", "tl.maximum(a / (a - a), b, propagate_nan=tl.PropagateNan.ALL)",
               lambda a, b, c: b * float("nan"), WIDE, inputs="zero"),
    arithmetic("clamp", "tl.clamp(a, -1.0, 1.5)", lambda a, b, c: a.clamp(-1, 1.5)),
    arithmetic("fused multiply-add", "tl.fma(a, b, c)", lambda a, b, c: a * b + c, factor=8),
    arithmetic("expression", "a * b + c * 2 - 1", lambda a, b, c: a * b + c * 2 - 1, factor=16),
    arithmetic("times a number", "a * 1.5", lambda a, b, c: a * 1.5, FLOATS),
    arithmetic("ceiling division", "tl.cdiv(a, 7)", lambda a, b, c: (a + 6) // 7, ("int32", "int64"), inputs="positive"),
    arithmetic("high half of product", "tl.umulhi(a, b)", None, ("int32", "uint32", "int64")),
    arithmetic("full", "tl.full([256], 3, x.dtype.element_ty) + a", lambda a, b, c: a + 3),
    arithmetic("full with a fraction", "tl.full([256], 1.25, x.dtype.element_ty) * a", lambda a, b, c: a * 1.25, FLOATS),
    arithmetic("zeros", "tl.zeros([256], x.dtype.element_ty) - a", lambda a, b, c: -a),
    arithmetic("zeros_like", "tl.zeros_like(a) + b", lambda a, b, c: b),
]  # fmt: skip

compare = _row("comparisons and booleans")
COMPARISONS = [
    *(compare(name, f"a {op} b", ref, ALL, out="bool", inputs="ties") for name, op, ref in (
        ("less", "<", lambda a, b, c: a < b), ("less or equal", "<=", lambda a, b, c: a <= b),
        ("greater", ">", lambda a, b, c: a > b), ("greater or equal", ">=", lambda a, b, c: a >= b),
        ("equal", "==", lambda a, b, c: a == b), ("not equal", "!=", lambda a, b, c: a != b))),
    compare("and", "(a > b) and (b > c)", lambda a, b, c: (a > b) & (b > c), out="bool"),
    compare("or", "(a > b) or (b > c) or (a == c)", lambda a, b, c: (a > b) | (b > c) | (a == c), out="bool"),
    compare("not", "not (a > b)", lambda a, b, c: ~(a > b), out="bool"),
    compare("where", "tl.where(a > b, a, c)", lambda a, b, c: torch.where(a > b, a, c), ALL),
    compare("where with a number", "tl.where(a > b, a, 0)", lambda a, b, c: torch.where(a > b, a, 0)),
]  # fmt: skip

bits = _row("bits")
BITS = [
    bits("bitwise and", "a & b", lambda a, b, c: a & b, (*INTEGERS, "bool")),
    bits("bitwise or", "a | b", lambda a, b, c: a | b, (*INTEGERS, "bool")),
    bits("bitwise xor", "a ^ b", lambda a, b, c: a ^ b, (*INTEGERS, "bool")),
    bits("invert", "~a", lambda a, b, c: ~a, (*INTEGERS, "bool")),
    bits("shift left", "a << 3", lambda a, b, c: a << 3, INTEGERS),
    bits("shift right", "a >> 2", lambda a, b, c: a >> 2, INTEGERS),
    bits("shift by a block", "a >> (b & 7)", lambda a, b, c: a >> (b & 7), INTEGERS),
]

math = _row("mathematics")


def _functions() -> list[Operation]:
    rows = []
    for name, inputs, function in (
        ("exp", "any", torch.exp), ("exp2", "any", torch.exp2), ("log", "positive", torch.log),
        ("log2", "positive", torch.log2), ("sqrt", "positive", torch.sqrt),
        ("rsqrt", "positive", torch.rsqrt), ("sin", "any", torch.sin), ("cos", "any", torch.cos),
        ("erf", "any", torch.erf), ("floor", "any", torch.floor), ("ceil", "any", torch.ceil),
    ):  # fmt: skip

        def reference(a, b, c, function=function):
            return function(a)

        rows.append(math(name, f"tl.{name}(a)", reference, FLOATS, inputs=inputs, factor=8))
        if name in ("exp", "log", "sqrt"):
            body = f"tl.{name}(a.to(tl.float32)).to(x.dtype.element_ty)"
            rows.append(math(f"{name} in float32", body, reference, NARROW, inputs=inputs, factor=8))
    return rows


MATHEMATICS = [
    *_functions(),
    math("sqrt_rn", "tl.sqrt_rn(a)", lambda a, b, c: a.sqrt(), FLOATS, inputs="positive"),
    math("div_rn", "tl.div_rn(a, b)", lambda a, b, c: a / b, FLOATS),
    math("fdiv", "tl.fdiv(a, b)", lambda a, b, c: a / b, FLOATS),
    math("sigmoid", "tl.sigmoid(a)", lambda a, b, c: torch.sigmoid(a), FLOATS, factor=8),
    math("sigmoid in float32", "tl.sigmoid(a.to(tl.float32))", lambda a, b, c: torch.sigmoid(a), NARROW, factor=8),
    math("softmax of rows", "tl.reshape(tl.softmax(A.to(tl.float32), 1, keep_dims=True), [256])",
         lambda a, b, c: a.view(16, 16).softmax(1), NARROW, factor=8),
]  # fmt: skip

cast = _row("conversions")
FP8 = {"float8e4nv": torch.float8_e4m3fn, "float8e5": torch.float8_e5m2,
       "float8e4b8": torch.float8_e4m3fnuz, "float8e5b16": torch.float8_e5m2fnuz}  # fmt: skip


def _eight(kind: torch.dtype):
    return lambda a, b, c: a.float().to(kind).float()


def _to_zero(a, b, c):
    near = a.half().double()
    away = near.abs() > a.abs()
    step = torch.nextafter(a.half(), torch.zeros_like(a).half()).double()
    return torch.where(away, step, near)


CONVERSIONS = [
    *(cast(f"to {name}", f"a.to(tl.{'int1' if name == 'bool' else name})",
           (lambda a, b, c: a != 0) if name == "bool" else (lambda a, b, c: a), ALL, out=name,
           inputs="positive" if name in ("uint8", "uint32") else "small", factor=1) for name in ALL),
    *(cast(f"through {name}", f"a.to(tl.{name}).to(tl.float32)", _eight(kind), FLOATS, out="float32", factor=0)
      for name, kind in FP8.items()),
    cast("beyond the range of float8e4nv", "(a.to(tl.float32) * 1000).to(tl.float8e4nv).to(tl.float32)",
         lambda a, b, c: a, FLOATS, out="float32"),
    cast("to float16, toward zero", 'a.to(tl.float16, fp_downcast_rounding="rtz")', _to_zero, ("float32",), out="float16", factor=0),
    cast("bits as int16", "a.to(tl.int16, bitcast=True).to(tl.int32)", lambda a, b, c: a, ("float16", "bfloat16"), out="bits", factor=0),
    cast("bits as int32", "a.to(tl.int32, bitcast=True)", lambda a, b, c: a, ("float32",), out="bits", factor=0),
]  # fmt: skip

flow = _row("control flow")
HELPER = """
def _twice(v, n: tl.constexpr):
    for step in tl.static_range(n):
        v = v + v
    return v
"""
LOOP = "s = tl.zeros([256], tl.float32)\nfor k in range(1, 4):\n        s += a * k\nr = s"
WHILE = "k = 0\nr = a\nwhile k < 3 and not k == 2:\n        r = r + b\n        k += 1"
BRANCH = "n = tl.sum(tl.where(a == a, 1, 0))\nif n > 100 and n < 1000:\n        r = a\nelse:\n        r = b"
FLOW = [
    flow("for loop over a range", LOOP, lambda a, b, c: a * 6, factor=16, inputs="small"),
    flow("trunc of a negative loop variable", "r = a\nfor k in range(-7, -6):\n        r = a + k // 2",
         lambda a, b, c: a - 3, ("int32", "int64")),
    flow("for loop with a step", "r = a\nfor k in tl.range(6, step=2, num_stages=2):\n        r = (r + k).to(x.dtype.element_ty)", lambda a, b, c: a + 6, factor=8),
    flow("while loop", WHILE, lambda a, b, c: a + 2 * b, factor=8),
    flow("branch on a scalar", BRANCH, lambda a, b, c: a),
    flow("conditional expression", "a if tl.max(a, 0) >= tl.min(a, 0) else b", lambda a, b, c: a),
    flow("nested function", "_twice(a, 2)", lambda a, b, c: a * 4, helpers=HELPER),
]  # fmt: skip

ROWS = [*ARITHMETIC, *COMPARISONS, *BITS, *MATHEMATICS, *CONVERSIONS, *FLOW]
