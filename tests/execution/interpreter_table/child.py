"""Judge every cell of the table in one process; print the answers as JSON.

Arguments: `repaired` or `stock` (the interpreter as Triton ships it), and a folder for the kernels'
source. With `compile` nothing runs: each cell is compiled for gfx942.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

MODE, FOLDER = sys.argv[1], Path(sys.argv[2])
if MODE != "compile":
    os.environ["TRITON_INTERPRET"] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402

import blocks  # noqa: E402
import elementwise  # noqa: E402
import library  # noqa: E402

ROWS = [*elementwise.ROWS, *blocks.ROWS, *library.ROWS]
WIDE_OUT = {"float64": "float64", "int8": "int32", "uint8": "int32"}
POINTERS = {"float32": "*fp32", "float16": "*fp16", "bfloat16": "*bf16", "float64": "*fp64",
            "int8": "*i8", "uint8": "*u8", "int32": "*i32", "uint32": "*u32", "int64": "*i64",
            "bool": "*u1"}  # fmt: skip
REJECTED = ("CompilationError", "ValueError", "TypeError", "AssertionError", "KeyError",
            "IncompatibleTypeErrorImpl", "AttributeError", "InterpreterError",
            "NotImplementedError")  # fmt: skip


class NoGuard:
    """Accepts every access; checks what it is told."""

    def check(self, addresses, itemsize, mask, access):
        assert addresses.dtype == np.uint64 and mask.dtype == np.bool_
        assert addresses.shape == mask.shape and itemsize in (1, 2, 4, 8)
        assert access in ("load", "store", "atomic")


def module(folder):
    """All kernels as one module."""
    head = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
    path = folder / "kernels.py"
    seen: set[str] = set()
    parts = []
    for number, row in enumerate(ROWS):
        text = row.source(number)
        kernel = text.index(f"@triton.jit\ndef k{number}(")
        if text[:kernel] not in seen:
            parts.append(text[:kernel])
            seen.add(text[:kernel])
        parts.append(text[kernel:])
    path.write_text(head + "\n".join(parts))
    spec = importlib.util.spec_from_file_location("kernels", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def floats(kind, rng):
    values = rng.standard_normal(256) * 2
    values = np.where(np.abs(values) < 0.05, 0.5, values)
    if kind == "positive":
        return np.abs(values) + 0.1
    if kind == "above one":
        return np.abs(values) + 1.1
    if kind == "unit":
        return np.clip(values / 4, -0.97, 0.97)
    if kind == "ties":
        return np.round(values)
    return values


def integers(kind, dtype, rng):
    info = np.iinfo(dtype)
    low, high = {"small": (-3, 4), "positive": (1, 100), "unit": (-2, 3), "ties": (-2, 3),
                 "bins": (0, 16)}.get(kind, (info.min, info.max))  # fmt: skip
    values = rng.integers(max(low, info.min), high, 256, dtype=np.int64 if info.min < 0 else np.uint64)
    return np.where(values == 0, 1, values).astype(dtype) if kind == "any" else values.astype(dtype)


def operands(row, dtype, rng):
    made = []
    for _ in range(3):
        if dtype == "bool":
            made.append(torch.from_numpy(rng.integers(0, 2, 256).astype(bool)))
        elif dtype.startswith(("int", "uint")):
            made.append(torch.from_numpy(integers(row.inputs, np.dtype(dtype), rng)))
        else:
            made.append(torch.from_numpy(floats(row.inputs, rng)).to(getattr(torch, dtype)))
    if row.inputs == "zero":
        made[0] = torch.zeros_like(made[0])
    return made


def wide(tensor):
    """Exact: float64, or int64."""
    if tensor.dtype.is_floating_point:
        return tensor.double()
    return torch.from_numpy(tensor.numpy().astype(np.int64))


def out_name(row, dtype):
    if row.out == "wide":
        return WIDE_OUT.get(dtype, "float32")
    return {"same": dtype, "bits": "int32"}.get(row.out, row.out)


def expected(row, inputs, out):
    if row.name == "high half of product":
        bits = 8 * inputs[0].element_size()
        pairs = zip(*(t.numpy().astype(f"uint{bits}").tolist() for t in inputs[:2]), strict=True)
        high = np.array([(p * q) >> bits for p, q in pairs], dtype=f"uint{bits}")
        return torch.from_numpy(high.view(out) if out != f"uint{bits}" else high)
    if row.out == "bits":
        kind = torch.int16 if inputs[0].element_size() == 2 else torch.int32
        return inputs[0].view(kind).int()
    want = row.reference(*map(wide, inputs)).reshape(-1)
    if out == "bool":
        return want if want.dtype == torch.bool else want.long() % 2 != 0
    kind = getattr(torch, out)
    if kind.is_floating_point:
        return want.double()
    if want.dtype.is_floating_point:
        want = want.trunc()
    return torch.from_numpy(want.numpy().astype(np.int64).astype(out))


def compare(row, got, want):
    if got.shape != want.shape:
        return f"shape {tuple(got.shape)} for {tuple(want.shape)}"
    if not got.dtype.is_floating_point:
        bad = got.numpy() != want.numpy()
        return f"{int(bad.sum())} of {bad.size} differ" if bad.any() else ""
    info = torch.finfo(got.dtype)
    want = want.to(got.dtype).double()
    got = got.double()
    error = (got - want).abs()
    allowed = row.factor * info.eps * (want.abs() + 1)
    same = (error <= allowed) | (got == want) | (got.isnan() & want.isnan())
    return "" if same.all() else f"{int((~same).sum())} of {got.numel()} differ, by {float(error.max()):.3g}"


def interpreted(kernel, row, dtype, rng):
    inputs = operands(row, dtype, rng)
    out = out_name(row, dtype)
    got = torch.zeros(abs(row.size), dtype=getattr(torch, out))
    try:
        kernel[(1,)](*inputs, got)
    except Exception as error:  # every failure of a cell is an answer about it
        if type(error).__name__ == "Refused":
            return "refused", str(error)
        text = f"{type(error).__name__}: {error}"
        return ("n/a" if type(error).__name__ in REJECTED else "wrong"), text.split("\n", maxsplit=1)[0][:200]
    wrong = compare(row, got, expected(row, inputs, out))
    return ("wrong", wrong) if wrong else ("right", "")


def compiled(kernel, row, dtype, _rng):
    """Compile in a fork, because the compiler aborts on some of what it does not take."""
    import triton
    from triton.backends.compiler import GPUTarget

    signature = dict.fromkeys("xyz", POINTERS[dtype]) | {"o": POINTERS[out_name(row, dtype)]}
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            source = triton.compiler.ASTSource(kernel, signature=signature)
            triton.compile(source, target=GPUTarget("hip", "gfx942", 64))
            os.write(writing, b"+")
        except BaseException as error:  # a rejected cell is the answer
            os.write(writing, f"{type(error).__name__}: {str(error)[-300:]}".encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(process, 0)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode(errors="replace") or "the compiler aborted"
    return ("compiled", "") if text == "+" else ("rejected", text)


def main() -> None:
    if MODE == "repaired":
        sys.path.insert(0, sys.argv[3])
        import interpreter

        interpreter.install(NoGuard())
    kernels = module(FOLDER)
    judge = compiled if MODE == "compile" else interpreted
    if MODE == "compile":
        import triton
        from triton.backends.compiler import GPUTarget

        first = triton.compiler.ASTSource(kernels.k0, signature=dict.fromkeys("xyzo", "*fp32"))
        triton.compile(first, target=GPUTarget("hip", "gfx942", 64))  # forks start warm
    only = set(json.loads(sys.argv[4])) if len(sys.argv) > 4 else None
    cells = []
    for number, row in enumerate(ROWS):
        for dtype in row.dtypes:
            key = f"{row.group}|{row.name}|{dtype}"
            if only is None or key in only:
                rng = np.random.default_rng(number)
                outcome, detail = judge(getattr(kernels, f"k{number}"), row, dtype, rng)
                cells.append([row.group, row.name, dtype, outcome, detail])
    sys.stdout.write(json.dumps(cells))


main()
