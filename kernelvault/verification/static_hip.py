"""The static gate for HIP: the source is parsed, not grepped; the built object's symbols have the
last word, since a macro can hide a name from any parser but not from the linker."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from kernelvault.verification import directives

MAX_SOURCE_BYTES = 256 * 1024

_ALLOWED_INCLUDES = frozenset(
    """hip/hip_runtime.h hip/hip_runtime_api.h hip/hip_fp16.h hip/hip_bf16.h hip/hip_bfloat16.h
    hip/hip_vector_types.h hip/hip_complex.h hip/hip_cooperative_groups.h kernelvault/abi.h
    algorithm array bit cassert cfloat climits cmath cstddef cstdint cstdio cstdlib cstring
    functional initializer_list limits numeric tuple type_traits utility assert.h float.h
    limits.h math.h stddef.h stdint.h stdio.h stdlib.h string.h""".split()
)

_ALLOWED_SYMBOLS = frozenset(
    """__hipRegisterFatBinary __hipRegisterFunction __hipRegisterVar __hipUnregisterFatBinary
    __hipPushCallConfiguration __hipPopCallConfiguration hipLaunchKernel hipExtLaunchKernel
    hipGetLastError hipPeekAtLastError hipGetErrorString hipGetErrorName hipMemsetAsync
    hipMemsetD8Async hipMemsetD16Async hipMemsetD32Async hipMemcpyAsync hipMemcpyDtoDAsync
    hipFuncSetAttribute hipFuncGetAttributes hipDeviceGetAttribute hipGetDevice
    hipGetDeviceProperties hipGetDevicePropertiesR0600
    hipOccupancyMaxActiveBlocksPerMultiprocessor hipOccupancyMaxPotentialBlockSize
    hipStreamSynchronize hipDeviceSynchronize memcpy memmove memset memcmp strlen strcmp abs
    labs llabs malloc calloc free abort atexit printf fprintf puts putchar fputs fputc
    fwrite stdout stderr snprintf __assert_fail __stack_chk_fail __gmon_start__
    __cxa_finalize __cxa_atexit __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort
    __cxa_pure_virtual __cxa_begin_catch __cxa_end_catch __cxa_rethrow __gxx_personality_v0
    _Unwind_Resume __clang_call_terminate __dso_handle _ITM_deregisterTMCloneTable
    _ITM_registerTMCloneTable _Znwm _Znam _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZSt9terminatev""".split()
)
_ALLOWED_SYMBOL_PATTERN = re.compile(
    r"""_ZSt\d+__throw_\w+
    | (a?(sin|cos|tan)h?|atan2|exp2?|expm1|exp10|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|erfc?
      |[lt]gamma|lgamma_r|fabs|floor|ceil|l{0,2}r?(int|ound)|nearbyint|trunc|round|fm(od|a|ax|in)
      |fdim|remainder|remquo|copysign|ldexp|frexp|modf|scalbl?n|ilogb|nextafter)(f|l)?(_finite)?
    """,
    re.VERBOSE,
)

_ADVICE = {
    "hipMalloc": "scratch memory comes from kv_workspace_size",
    "hipMallocAsync": "scratch memory comes from kv_workspace_size",
    "hipMemcpy": "tensor data stays on the device; copy with hipMemcpyAsync, device to device",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation about a source. Only `reject` decides; the others are kept for analysts."""

    rule: str
    severity: str  # reject | suspicious | telemetry
    line: int
    message: str


def parse_findings(source: str) -> tuple[Finding, ...]:
    """Findings of the raw source: size, includes, inline assembly, broken syntax."""
    raw = source.encode()
    if len(raw) > MAX_SOURCE_BYTES:
        text = f"the source has {len(raw)} bytes, more than {MAX_SOURCE_BYTES}"
        return (Finding("source_too_large", "reject", 0, text),)
    if "\0" in source:
        return (Finding("not_text", "reject", 0, "the source contains a NUL byte"),)
    parser = Parser(Language(tree_sitter_cpp.language()))
    root = parser.parse(raw).root_node
    found = [
        Finding(item.rule, "reject", item.line, item.message)
        for item in directives.refused(source, _ALLOWED_INCLUDES)
    ]
    return (*found, *_findings(root))


def _findings(root: Node) -> Iterator[Finding]:
    for node in _walk(root):
        line = node.start_point[0] + 1
        if node.type == "gnu_asm_expression":
            text = "inline assembly cannot be checked on every tier"
            yield Finding("inline_assembly", "reject", line, text)


def _walk(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def forbidden_symbols(undefined: Sequence[str]) -> tuple[str, ...]:
    """The undefined symbols a candidate's host library may not ask for, sorted."""
    return tuple(sorted(s for s in set(undefined) if not _symbol_allowed(s)))


def _symbol_allowed(symbol: str) -> bool:
    # __isoc23_ and @VERSION decorations of glibc do not change what is called.
    bare = symbol.split("@", 1)[0].removeprefix("__isoc23_")
    return bare in _ALLOWED_SYMBOLS or _ALLOWED_SYMBOL_PATTERN.fullmatch(bare) is not None


def built_findings(
    undefined: Sequence[str], exported: Sequence[str], hazards: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """Findings of the built host half: forbidden calls, a missing entry point, hidden assembly."""
    found = [
        Finding("host_code", "reject", 0, f"the host code holds {hazard}") for hazard in hazards
    ]
    if "kv_launch" not in exported:
        text = 'the file defines no `extern "C" int kv_launch(const kv_args*)`'
        found.append(Finding("missing_kv_launch", "reject", 0, text))
    for symbol in forbidden_symbols(undefined):
        advice = _ADVICE.get(symbol, "it is not on the list of host calls a candidate may make")
        found.append(Finding("forbidden_symbol", "reject", 0, f"calls {symbol}: {advice}"))
    return tuple(found)


def evidence(findings: Sequence[Finding], undefined: Sequence[str] | None = None) -> dict[str, Any]:
    """The evidence of the static gate."""
    return {
        "findings": [asdict(finding) for finding in findings],
        "undefined_symbols": None if undefined is None else sorted(set(undefined)),
        "forbidden_symbols": [] if undefined is None else list(forbidden_symbols(undefined)),
    }
