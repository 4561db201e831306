"""The emulated tier: HIP kernels on the CPU, 64-lane waves, no GPU and no latency."""

from kernelvault.execution.cpu.executor import HipCpuExecutor

__all__ = ["HipCpuExecutor"]
