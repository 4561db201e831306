"""Why a graph has no Triton module; the text becomes the reason of an agent's proposal."""

from __future__ import annotations


class UnsupportedError(Exception):
    """The graph, or what Inductor made of it, cannot become a self-contained module."""


def first_line(error: BaseException) -> str:
    """The first line of an error's text, cut to a readable length."""
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__
