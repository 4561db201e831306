"""Problems: a PyTorch reference, its functional signature and the domain a candidate must serve."""

from __future__ import annotations

from dataclasses import dataclass

from kernelvault.hashing import content_id, sha256_bytes
from kernelvault.spec.graph import Dim
from kernelvault.spec.provenance import Provenance
from kernelvault.spec.rows import plain

INPUT_KINDS = ("user", "parameter", "buffer", "constant")
MODES = ("train", "eval")


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One tensor of a signature. Shape entries are ints or symbol expressions of the domain."""

    name: str
    kind: str  # user | parameter | buffer | constant | output
    dtype: str
    shape: tuple[Dim, ...]

    def __post_init__(self) -> None:
        if self.kind not in (*INPUT_KINDS, "output"):
            raise ValueError(f"unknown tensor kind {self.kind!r}")


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """An int, float or bool leaf of the forward arguments or init inputs, with its given value."""

    name: str
    type: str  # int | float | bool
    value: int | float | bool

    def __post_init__(self) -> None:
        if self.type not in ("int", "float", "bool"):
            raise ValueError(f"unknown scalar type {self.type!r}")


@dataclass(frozen=True, slots=True)
class Signature:
    """Inputs (user inputs, parameters, buffers, constants), scalars and flattened outputs."""

    inputs: tuple[TensorSpec, ...]
    scalars: tuple[ScalarSpec, ...]
    outputs: tuple[TensorSpec, ...]


@dataclass(frozen=True, slots=True)
class SymbolRange:
    """A dimension the domain leaves open: where it is read and which sizes it may take."""

    symbol: str
    input_index: int
    dim: int
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Domain:
    """What a candidate must serve: symbolic dimensions, dtypes per input, layout."""

    symbols: tuple[SymbolRange, ...]
    dtypes: tuple[str, ...]
    layout: str = "contiguous"


@dataclass(frozen=True, slots=True)
class Problem:
    """A reference that was admitted: its functional form agreed with `Model` on every workload."""

    problem_id: str
    name: str
    family: str
    source: str
    signature: Signature
    domain: Domain
    mode: str
    graph_group: str
    operators: tuple[str, ...]
    reference_precision: str
    provenance: Provenance

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}, expected one of {MODES}")
        expected = problem_id(self.source, self.signature, self.domain, self.mode)
        if self.problem_id != expected:
            raise ValueError(f"problem_id {self.problem_id} does not match its content {expected}")


def normalise_source(source: str) -> str:
    """Line ends and trailing blanks do not make another problem."""
    return "\n".join(line.rstrip() for line in source.splitlines()).strip() + "\n"


def problem_id(source: str, signature: Signature, domain: Domain, mode: str) -> str:
    """Content address of a problem; holds no exported graph, so it survives torch releases."""
    body = [sha256_bytes(normalise_source(source).encode()), plain(signature), plain(domain), mode]
    return content_id("problem", body)
