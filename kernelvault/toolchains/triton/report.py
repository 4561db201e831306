"""What the Triton compile task leaves behind, read as hostile bytes: the candidate's host code ran
in the process that wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from kernelvault.hashing import sha256_bytes
from kernelvault.spec.strict import AtMost, Between, Count, Malformed, Name, Seconds, Text, read
from kernelvault.spec.verification import KernelUsage
from kernelvault.toolchains.triton.code_object import check_code_object, check_names
from kernelvault.toolchains.triton.usage import kernel_usage

_MAX_KERNELS = 10_000
_Size = Annotated[int, Between(0, 1 << 32)]
_Constant = int | float | bool | Annotated[str, AtMost(10_000)] | None
_Warps = Annotated[int, Between(1, 1 << 10)]
_Bytes = Annotated[int, Between(0, 1 << 32)]


@dataclass(frozen=True, slots=True)
class ToldError:
    """Why compiling ended early."""

    kind: Name
    message: Text
    line: Annotated[int, Between(0, 1 << 31)]


@dataclass(frozen=True, slots=True)
class ToldLaunch:
    """One launch; `kernel_index` is its place in `kernels`."""

    kernel: Name
    workload_id: Name
    grid: tuple[_Size, _Size, _Size]
    hash: Name
    tuning: bool
    declared: tuple[Name, ...]
    signature: dict[str, Name]
    constexprs: dict[str, _Constant]
    attributes: dict[str, Name]
    kernel_index: Annotated[int, Between(0, _MAX_KERNELS)]

    def plain(self) -> dict[str, Any]:
        """As evidence holds it."""
        return {**asdict(self), "grid": list(self.grid), "declared": list(self.declared)}


@dataclass(frozen=True, slots=True)
class ToldKernel:
    """One compiled kernel, as launched."""

    hash: Name
    name: Name
    num_warps: _Warps
    num_stages: Count
    lds_bytes: _Bytes
    options: dict[str, _Constant]


@dataclass(frozen=True, slots=True)
class ToldRefusal:
    """A configuration that no GPU could load."""

    kernel: Name
    hash: Name
    workload_id: Name
    lds_bytes: _Bytes
    num_warps: _Warps
    num_stages: Count | None
    reason: Text


@dataclass(frozen=True, slots=True)
class ToldTuner:
    """How many configurations an autotuner has, and how many were compiled."""

    configs: Count
    compiled_at_most: Count


@dataclass(frozen=True, slots=True)
class ToldCompile:
    """The whole report."""

    error: ToldError | None
    launches: tuple[ToldLaunch, ...]
    kernels: Annotated[tuple[ToldKernel, ...], AtMost(_MAX_KERNELS)]
    refused: tuple[ToldRefusal, ...]
    tuned: dict[str, ToldTuner]
    aten: dict[str, Count]
    host_compute: tuple[Name, ...]
    cpu_s: Seconds = 0.0

    @classmethod
    def ended(cls, kind: str, message: str) -> ToldCompile:
        """What stands for a report that says no more than why there is none."""
        return cls(ToldError(kind, message, 0), (), (), (), {}, {}, ())


def read_report(data: bytes, workloads: Collection[str], source: str) -> ToldCompile:
    """The report of compiling what `source` launches for `workloads`; raises Malformed."""
    told = read(ToldCompile, data)
    check_names((kernel.name for kernel in told.kernels), source)
    for launch in told.launches:
        if launch.kernel_index >= len(told.kernels):
            raise Malformed(f"a launch is of kernel {launch.kernel_index} of {len(told.kernels)}")
        if launch.workload_id not in workloads:
            raise Malformed("a launch is of a workload that was not asked for")
        if launch.kernel != told.kernels[launch.kernel_index].name:
            raise Malformed("a launch is of a kernel with another name")
    return told


def read_kernels(
    target: str, told: ToldCompile, files: Mapping[str, bytes]
) -> tuple[KernelUsage, ...]:
    """Usage of each compiled kernel; one name may be compiled in several specialisations.

    Raises Malformed when its assembly is missing or none.
    """
    return tuple(
        _usage(index, label, target, kernel, files)
        for index, (label, kernel) in enumerate(zip(_labels(told), told.kernels, strict=True))
    )


def _usage(
    index: int, label: str, target: str, kernel: ToldKernel, files: Mapping[str, bytes]
) -> KernelUsage:
    text = _file(files, f"{index}.amdgcn")
    try:
        return kernel_usage(label, target, text.decode("utf-8"), asdict(kernel))
    except ValueError as error:  # of the decoder, too
        raise Malformed(f"{index}.amdgcn: {str(error)[:200]}") from None


def _labels(told: ToldCompile) -> list[str]:
    total = Counter(kernel.name for kernel in told.kernels)
    seen: Counter[str] = Counter()
    labels = []
    for kernel in told.kernels:
        seen[kernel.name] += 1
        many = total[kernel.name] > 1
        labels.append(f"{kernel.name}#{seen[kernel.name]}" if many else kernel.name)
    return labels


def read_digest(target: str, told: ToldCompile, files: Mapping[str, bytes]) -> str | None:
    """One digest over all code objects, in the order in which they were first launched.

    Raises Malformed when one is missing or is not for `target`.
    """
    names = [f"{index}.hsaco" for index in range(len(told.kernels))]
    objects = [_file(files, name) for name in names]
    for name, data in zip(names, objects, strict=True):
        check_code_object(name, target, data)
    return sha256_bytes(b"".join(objects)) if objects else None


def _file(files: Mapping[str, bytes], name: str) -> bytes:
    if name not in files:
        raise Malformed(f"{name} is missing")
    return files[name]
