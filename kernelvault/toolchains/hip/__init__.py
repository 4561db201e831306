"""HIP for AMD GPUs, compiled by ROCm's clang or by plain LLVM 22."""

from kernelvault.toolchains.hip.toolchain import HipToolchain, discover

__all__ = ["HipToolchain", "discover"]
