"""What the reference worker tells of a problem, read as hostile bytes: the problem file ran in the
process that wrote it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Literal

from kernelvault.spec.graph import Graph
from kernelvault.spec.problem import TensorSpec
from kernelvault.spec.strict import AtMost, Between, Count, Malformed, Name, Text, read
from kernelvault.spec.tensor import STORAGE

MAX_BYTES = 64 << 20
# One tensor; the sandbox limits all of them together to less.
MAX_TENSOR_BYTES = 1 << 31
Size = Annotated[int, Between(0, 1 << 40)]
_Shape = Annotated[tuple[Size, ...], AtMost(64)]
_Index = Annotated[int, Between(0, 100_000)]
_Seed = Annotated[int, Between(-(1 << 63), 1 << 64)]


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor in a file of its own, `<sha256>.bin`: dense, row-major, little-endian."""

    dtype: Name
    shape: _Shape
    sha256: Name
    bytes: Size

    def __post_init__(self) -> None:
        # A name that is no digest could lead out of the folder.
        if len(self.sha256) != 64 or set(self.sha256) - set("0123456789abcdef"):
            raise Malformed("a tensor's name is no digest")
        if self.dtype not in STORAGE:
            raise Malformed(f"a tensor is of dtype {self.dtype[:40]!r}")
        needed = math.prod(self.shape) * STORAGE[self.dtype].itemsize
        if self.bytes != needed or needed > MAX_TENSOR_BYTES:
            text = f"a {self.dtype} tensor of shape {list(self.shape)} has {self.bytes} bytes"
            raise Malformed(text)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One correctness workload: arguments of the user, PyTorch's results, those in float64."""

    case: _Seed
    seed: _Seed
    users: tuple[StoredTensor, ...]
    native: tuple[StoredTensor, ...]
    wide: tuple[StoredTensor, ...]


@dataclass(frozen=True, slots=True)
class ToldSignature:
    """The signature, scalars as (name, type, value)."""

    inputs: tuple[TensorSpec, ...]
    scalars: tuple[tuple[Name, Literal["int", "float", "bool"], bool | int | float], ...]
    outputs: tuple[TensorSpec, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The whole description. Symbols are (name, input, dimension, minimum, maximum)."""

    signature: ToldSignature
    symbols: tuple[tuple[Name, _Index, _Index, Count, Count | None], ...]
    graph: Graph
    fixed: tuple[StoredTensor, ...]
    mode: Literal["train", "eval"]
    reference_precision: Literal["float64", "float32"]
    workloads: Annotated[tuple[Recorded, ...], AtMost(10_000)]
    performance: tuple[tuple[_Shape, Name], ...]

    def tensors(self) -> Iterator[StoredTensor]:
        """Every tensor it names, some more than once."""
        each = (chain(item.users, item.native, item.wide) for item in self.workloads)
        return chain(self.fixed, chain.from_iterable(each))


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a problem file cannot serve, as the worker tells it."""

    reason: Annotated[str, AtMost(60)]
    cause: Text
    next_step: Text

    def __post_init__(self) -> None:
        if not (self.reason.isascii() and self.reason.replace("_", "").isalnum()):
            raise Malformed("the reason is no word")


def read_manifest(data: bytes) -> Manifest:
    """The description; raises Malformed, also when its parts do not fit one another."""
    told = read(Manifest, data, MAX_BYTES)
    inputs, outputs = told.signature.inputs, told.signature.outputs
    users = sum(spec.kind == "user" for spec in inputs)
    if any(spec.kind == "user" for spec in inputs[users:]):
        raise Malformed("the inputs of the user are not the first")
    _check("fixed inputs", inputs[users:], told.fixed, sizes=True)
    if unknown := [dtype for _, dtype in told.performance if dtype not in STORAGE]:
        raise Malformed(f"a performance input is of dtype {unknown[0][:40]!r}")
    for item in told.workloads:
        _check("inputs", inputs[:users], item.users, sizes=True)
        _check("outputs", outputs, item.native)
        if [tensor.shape for tensor in item.native] != [tensor.shape for tensor in item.wide]:
            raise Malformed("a workload's results in float64 are of other shapes")
    return told


def _check(
    what: str, specs: tuple[TensorSpec, ...], tensors: tuple[StoredTensor, ...], sizes: bool = False
) -> None:
    if len(specs) != len(tensors):
        raise Malformed(f"there are {len(tensors)} {what}, in the signature {len(specs)}")
    for spec, tensor in zip(specs, tensors, strict=True):
        if spec.dtype != tensor.dtype or len(spec.shape) != len(tensor.shape):
            raise Malformed(f"the {what} are not of the signature's dtypes and ranks")
        pairs = zip(spec.shape, tensor.shape, strict=True)
        if sizes and any(isinstance(wanted, int) and wanted != size for wanted, size in pairs):
            raise Malformed(f"the {what} are not of the signature's sizes")
        if spec.kind != "user" and sizes and not all(isinstance(d, int) for d in spec.shape):
            raise Malformed(f"the {what} are of open sizes")


def read_rejection(data: bytes) -> Rejection:
    """The rejection; raises Malformed."""
    return read(Rejection, data, 1 << 20)
