"""Readable Python names for the tensors of a signature."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

# Names that a module uses for itself: imports, sizes, buffers, results, blocks.
_TAKEN = re.compile(
    r"torch|triton|tl|libdevice|math|module_fn|min|max|s\d+|p?s\d+|buf\d+|out\d*|result\d+"
    r"|[xyz]_?blocks|[XYZ]BLOCK|R0_BLOCK|\w+_kernel|arg\d+_\d+|\w*numel"
)


def tensor_names(names: Sequence[str]) -> tuple[str, ...]:
    """One identifier for each name, all different: `norm.weight` becomes `norm_weight`."""
    found: list[str] = []
    for index, name in enumerate(names):
        text = re.sub(r"\W", "_", name).strip("_") or f"tensor{index}"
        if text[0].isdigit() or keyword.iskeyword(text) or _TAKEN.fullmatch(text):
            text = f"in_{text}"
        found.append(text if text not in found else f"{text}_{index}")
    return tuple(found)
