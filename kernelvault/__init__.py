"""kernelvault: execution-verified corpora of AMD GPU kernels."""

__version__ = "0.1.0"
