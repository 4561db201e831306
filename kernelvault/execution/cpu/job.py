"""The runner's job file and report: written and read here, and trusted by nobody.

The runner's process also holds the candidate's code, so its report is parsed as hostile text:
sizes are checked against what we asked for, numbers are bounded, and no verdict is taken from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernelvault.execution.contract import Call, CallResult, Fault, OutputSpec
from kernelvault.execution.poison import poison_byte
from kernelvault.spec.strict import Malformed, printable
from kernelvault.spec.tensor import STORAGE, Tensor, from_bytes

# DLPack type codes: see abi.h.
_CODES = {"float64": 2, "float32": 2, "float16": 2, "bfloat16": 4, "uint8": 1, "bool": 6}
_KINDS = frozenset(
    """missing_kv_launch timeout error_code crash memory_limit out_of_bounds input_modified
    host_access guard_damaged launch_error divergent_barrier unsupported""".split()
)
_FACTS = frozenset({"launches", "work_items", "lds_bytes_max"})
_MAX_REPORT = 1 << 16
_LINE = re.compile(r"(result|fault|fact|done|broken)\b ?(.*)")


def write_job(calls: Sequence[Call]) -> tuple[str, dict[str, bytes]]:
    """(job text, input files). Files are shared between calls that use the same tensor object."""
    lines: list[str] = []
    inputs: dict[str, bytes] = {}
    names: dict[int, str] = {}
    for call in calls:
        lines.append("call")
        for tensor in call.inputs:
            name = names.setdefault(id(tensor), f"tensor{len(names)}.bin")
            inputs[name] = tensor.data.tobytes()
            code, bits = _dtype(tensor.dtype)
            shape = _shape(tensor.shape)
            lines.append(f"input {name} {code} {bits} {tensor.nbytes} 0 {shape}")
        for output in call.outputs:
            code, bits = _dtype(output.dtype)
            poison = poison_byte(output.dtype)
            lines.append(f"output {poison} {code} {bits} {_bytes(output)} {_shape(output.shape)}")
        for scalar in call.scalars:
            lines.append(f"scalar {_scalar(scalar)}")
    return "\n".join(lines) + "\n", inputs


def _scalar(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return f"b {int(value)}"
    return f"i {value}" if isinstance(value, int) else f"f {value.hex()}"


def _dtype(dtype: str) -> tuple[int, int]:
    return _CODES.get(dtype, 0), STORAGE[dtype].itemsize * 8


def _bytes(output: OutputSpec) -> int:
    return int(np.prod(output.shape, dtype=np.int64)) * STORAGE[output.dtype].itemsize


def _shape(shape: tuple[int, ...]) -> str:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return " ".join(map(str, [len(shape), *shape, *reversed(strides)]))


@dataclass(frozen=True, slots=True)
class Report:
    """The parsed report; `complete` says that the runner reached its own end, `malformed` what in
    it no runner writes."""

    results: tuple[CallResult, ...]
    fault: Fault | None
    facts: dict[str, int]
    complete: bool
    broken: str | None
    malformed: str | None = None


def read_report(calls: Sequence[Call], files: Mapping[str, bytes]) -> Report:
    """Read what a runner left in `/out`, up to the first line that does not fit."""
    results: list[CallResult] = []
    facts: dict[str, int] = {}
    fault: Fault | None = None
    broken: str | None = None
    malformed: str | None = None
    complete = False
    try:
        for line in _lines(files.get("report", b"")):
            found = _LINE.fullmatch(line)
            kind, rest = found.groups() if found else ("", "")
            if kind == "result":
                results.append(_result(calls, len(results), rest, files))
            elif kind == "fault":
                fault = fault or _fault(calls, rest)
            elif kind == "fact":
                facts.update(_fact(rest))
            elif kind == "broken":
                broken = printable(rest)
            elif kind == "done":
                complete = True
            else:
                raise Malformed(f"a line begins with {line[:20]!r}")
    except Malformed as error:
        malformed = str(error)
    return Report(tuple(results), fault, facts, complete, broken, malformed)


def _lines(data: bytes) -> list[str]:
    if len(data) > _MAX_REPORT:
        raise Malformed(f"it has {len(data)} bytes, {_MAX_REPORT} are allowed")
    # A run that was stopped may have been in the middle of its last line. Text of a candidate, such
    # as a kernel's name, may be cut within a character.
    return data.decode("utf-8", errors="replace").split("\n")[:-1]


def _fact(rest: str) -> dict[str, int]:
    found = re.fullmatch(r"(\w{1,40}) ([0-9]{1,18})", rest)
    if found is None or found[1] not in _FACTS:
        raise Malformed(f"a fact is {rest[:40]!r}")
    return {found[1]: int(found[2])}


def _result(
    calls: Sequence[Call], expected: int, rest: str, files: Mapping[str, bytes]
) -> CallResult:
    found = re.fullmatch(r"([0-9]{1,6}) ([01]) ([0-9]{1,12})", rest)
    if found is None or int(found[1]) != expected or expected >= len(calls):
        raise Malformed(f"result {expected} of {len(calls)} is {rest[:40]!r}")
    call = calls[expected]
    outputs: list[Tensor] = []
    for index, spec in enumerate(call.outputs):
        try:
            raw = files.get(f"{expected}_{index}.bin", b"")
            outputs.append(from_bytes(spec.dtype, spec.shape, raw))
        except ValueError as error:
            raise Malformed(f"{expected}_{index}.bin: {error}") from None
    return CallResult(call.workload_id, tuple(outputs), found[2] == "1", int(found[3]))


def _fault(calls: Sequence[Call], rest: str) -> Fault:
    found = re.fullmatch(r"(\w{1,40}) (-?[0-9]{1,6}) (.{0,800})", rest)
    if found is None or found[1] not in _KINDS:
        raise Malformed(f"a fault is {rest[:40]!r}")
    call = int(found[2])
    detail = {"workload_id": calls[call].workload_id} if 0 <= call < len(calls) else {}
    return Fault(found[1], printable(found[3]), detail)
