# mypy: ignore-errors
"""The kernel that a warm process compiles first; Triton reads annotations, so it has none."""

import triton
import triton.language as tl


@triton.jit
def first(values, count, BLOCK: tl.constexpr):  # noqa: N803
    """Replace `values` by their sum."""
    index = tl.arange(0, BLOCK)
    inside = index < count
    total = tl.sum(tl.load(values + index, mask=inside, other=0.0))
    tl.store(values + index, total, mask=inside)
