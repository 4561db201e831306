"""Writes tensors as raw little-endian files and keeps the list of them for the manifest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch

from kernelvault.problems.reference.encode import dtype_name
from kernelvault.problems.reference.load import raw_bytes
from kernelvault.problems.reference.reject import Rejected

SUPPORTED = frozenset(
    {
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    }
)


class Writer:
    """One file per distinct tensor, named by its digest, so that repeated values are kept once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def tensor(self, tensor: torch.Tensor) -> dict[str, Any]:
        """Write a tensor; returns its manifest entry."""
        dtype = dtype_name(tensor.dtype)
        if dtype not in SUPPORTED:
            step = f"use one of {', '.join(sorted(SUPPORTED))}"
            raise Rejected("unsupported_dtype", f"a tensor of dtype {dtype}", step)
        raw = raw_bytes(tensor).numpy().tobytes() if tensor.numel() else b""
        digest = hashlib.sha256(raw).hexdigest()
        path = self._folder / f"{digest}.bin"
        if not path.exists():
            path.write_bytes(raw)
        return {"dtype": dtype, "shape": list(tensor.shape), "sha256": digest, "bytes": len(raw)}
