"""Why a graph has no Triton module; the text becomes the reason of an agent's proposal."""

from __future__ import annotations


class UnsupportedError(Exception):
    """The graph, or what Inductor made of it, cannot become a self-contained module."""
