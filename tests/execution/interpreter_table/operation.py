"""What one row of the table of operations says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int8", "uint8", "int32", "uint32", "int64")
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, "bool")

Reference = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Any]


@dataclass(frozen=True)
class Operation:
    """One operation: a kernel's lines, and what they compute in float64 or int64.

    The kernel sees blocks `a`, `b`, `c` of 256 elements, `A`, `B`, `C` of 16 x 16 (the same
    memory), pointers `x`, `y`, `z` and `o`, and `i`, the numbers below 256. It sets `r`, of `size`
    elements, which are stored as `out` (`same`: the dtype of the inputs), or stores by itself when
    `size` is negative.
    """

    group: str
    name: str
    body: str
    reference: Reference
    dtypes: tuple[str, ...] = FLOATS
    out: str = "same"
    size: int = 256
    inputs: str = "any"  # any | positive | unit | small | ties
    factor: float = 2.0  # epsilons of the output's dtype that an element may be off
    helpers: str = ""  # jitted functions that the body calls

    def source(self, number: int) -> str:
        """The kernel `k<number>` and its helpers."""
        lines = self.body.strip().split("\n")
        if len(lines) == 1 and not lines[0].startswith("tl.store"):
            lines = ["r = " + lines[0]]
        loads = [f"{n} = tl.load({p} + i)" for n, p in zip("abc", "xyz", strict=True)]
        blocks = [f"{n} = tl.load({p} + ij)" for n, p in zip("ABC", "xyz", strict=True)]
        start = ["i = tl.arange(0, 256)", "q = tl.arange(0, 16)", "ij = q[:, None] * 16 + q[None, :]"]
        text = " ".join(lines)
        used = [line for line in (*loads, *blocks) if f"{line[0]}" in _names(text)]
        end = [] if self.size < 0 else [self._store()]
        body = "\n    ".join([*start, *used, *lines, *end])
        helpers = "\n".join(f"@triton.jit\n{h.strip()}\n" for h in self.helpers.split("---") if h.strip())
        return f"{helpers}\n@triton.jit\ndef k{number}(x, y, z, o):\n    {body}\n"

    def _store(self) -> str:
        if self.size == 1:
            return "tl.store(o, r)"
        return f"tl.store(o + tl.arange(0, {self.size}), r)"


def _names(text: str) -> set[str]:
    return set("".join(ch if ch.isalnum() or ch == "_" else " " for ch in text).split())
