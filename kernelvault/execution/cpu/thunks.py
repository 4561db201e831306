"""Makes the front end's LLVM IR loadable by the runner: LDS placement and one thunk a kernel.

The host's launch stub packs a kernel's arguments as an array of pointers, one for each C++
parameter. A thunk `kv_thunk_<mangled name>(ptr args)` unpacks them into the parameters as the
x86-64 calling convention lowered them: small structs are split into `name.coerce*`, large ones are
`byval`, empty ones vanish. Debug information says which C++ parameter each IR parameter belongs to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DYNAMIC_LDS_BYTES = 163840 + 4096

_DEFINE = re.compile(
    r"^define (?:[\w]+ )*void @(?P<name>\"[^\"]+\"|[\w.$]+)\((?P<params>.*)\)"
    r"(?P<rest>[^()]*) !dbg !(?P<scope>\d+) \{$",
    re.MULTILINE,
)
_ARGUMENT = re.compile(r'!DILocalVariable\(name: "([^"]+)", arg: (\d+), scope: !(\d+)')
_STATIC_LDS = re.compile(
    r"^(?P<head>@\S+ = (?:\w+ )*global .+ undef)(?P<comdat>, comdat[^,\n]*)?(?P<align>, align \d+)",
    re.MULTILINE,
)
_DYNAMIC_LDS = re.compile(
    r"^(?P<name>@\S+) = external (?:\w+ )*global (?P<type>\[0 x .+\]), align \d+", re.MULTILINE
)
_KERNEL_MARK = re.compile(r'^attributes #(\d+) = \{.*"uniform-work-group-size".*\}$', re.MULTILINE)
_BODY = re.compile(r"^define [^\n]*@(\"[^\"]+\"|[\w.$]+)\([^\n]*\{\n(.*?)^\}", re.M | re.S)
_LDS_TYPE = re.compile(r"^(@\S+) = (?:\w+ )*global (.+) undef, section", re.MULTILINE)
_SYMBOL = re.compile(r"@(?:\"[^\"]+\"|[\w.$]+)")
_PARAMETER = re.compile(r"^(?P<body>.*?)(?: %(?P<name>\"[^\"]+\"|[\w.$]+))?$")

_LDS_SUPPORT = f"""
@kv_dynamic_lds = global [{DYNAMIC_LDS_BYTES} x i8] zeroinitializer, align 4096
@__start_kv_lds = extern_weak hidden global i8
@__stop_kv_lds = extern_weak hidden global i8
@kv_lds_begin = global ptr @__start_kv_lds
@kv_lds_end = global ptr @__stop_kv_lds
"""


@dataclass(frozen=True, slots=True)
class _Load:
    """One IR parameter: which C++ argument it reads, at which byte offset, as what type."""

    argument: int
    offset: int
    type: str
    text: str
    by_reference: bool


def transform(ir: str) -> str:
    """IR with LDS in place and a thunk for every kernel that can be called.

    A kernel whose parameters cannot be mapped gets no thunk; launching it is refused by name.
    """
    ir = _STATIC_LDS.sub(r'\g<head>, section "kv_lds"\g<comdat>\g<align>', ir)
    ir = _DYNAMIC_LDS.sub(r"\g<name> = alias \g<type>, ptr @kv_dynamic_lds", ir)
    marks = set(_KERNEL_MARK.findall(ir))
    arguments: dict[str, dict[str, int]] = {}
    for name, number, scope in _ARGUMENT.findall(ir):
        arguments.setdefault(scope, {})[name] = int(number) - 1
    lds = _static_lds(ir)
    thunks = []
    for found in _DEFINE.finditer(ir):
        if not marks.intersection(re.findall(r"#(\d+)", found["rest"])):
            continue
        name = found["name"].strip('"')
        thunks.append(_lds_size(name, lds.get(name, [])))
        loads = _loads(found["params"], arguments.get(found["scope"], {}))
        if loads is not None:
            thunks.append(_thunk(name, loads))
    return ir + _LDS_SUPPORT + "\n".join(thunks)


def _static_lds(ir: str) -> dict[str, list[str]]:
    """The types of the LDS variables that each function reaches, itself or through calls."""
    types = dict(_LDS_TYPE.findall(ir))
    reached = {name.strip('"'): set(_SYMBOL.findall(body)) for name, body in _BODY.findall(ir)}
    return {name: _reached_types(name, reached, types) for name in reached}


def _reached_types(name: str, reached: dict[str, set[str]], types: dict[str, str]) -> list[str]:
    seen: set[str] = set()
    todo = [name]
    while todo:
        for symbol in reached.get(todo.pop(), set()) - seen:
            seen.add(symbol)
            todo.append(symbol[1:].strip('"'))
    return [types[symbol] for symbol in sorted(seen) if symbol in types]


def _lds_size(name: str, types: list[str]) -> str:
    """A function that returns the bytes of static LDS a kernel reaches, without padding."""
    lines, total = [], "0"
    for i, kind in enumerate(types):
        size = f"ptrtoint (ptr getelementptr ({kind}, ptr null, i64 1) to i64)"
        lines.append(f"  %s{i} = add i64 {total}, {size}")
        total = f"%s{i}"
    body = "\n".join([*lines, f"  ret i64 {total}"])
    return f'define i64 @"kv_static_lds_{name}"() {{\n{body}\n}}\n'


def _loads(params: str, numbers: dict[str, int]) -> list[_Load] | None:
    loads: list[_Load] = []
    for text in _split(params):
        found = _PARAMETER.match(text)
        if found is None:
            return None
        body, name = found["body"].strip(), (found["name"] or "").strip('"')
        base, _, part = name.partition(".coerce")
        if base in numbers:
            argument = numbers[base]
        elif name and not name.isdigit():
            return None
        else:  # an unnamed parameter follows its predecessor
            argument = loads[-1].argument + 1 if loads else 0
        offset = 8 if part == "1" else 0
        loads.append(_Load(argument, offset, _type_of(body), body, "byval(" in body))
    return loads


def _split(params: str) -> list[str]:
    """Top-level commas only: types contain commas and parentheses of their own."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(params):
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            parts.append(params[start:i].strip())
            start = i + 1
    last = params[start:].strip()
    return [*parts, last] if last else parts


def _type_of(body: str) -> str:
    if body.startswith("<"):
        return body[: body.index(">") + 1]
    return body.split(" ", 1)[0]


def _thunk(name: str, loads: list[_Load]) -> str:
    lines, passed = [], []
    for i, load in enumerate(loads):
        lines.append(f"  %q{i} = getelementptr ptr, ptr %args, i64 {load.argument}")
        lines.append(f"  %a{i} = load ptr, ptr %q{i}")
        if load.by_reference:
            passed.append(f"{load.text} %a{i}")
            continue
        lines.append(f"  %o{i} = getelementptr i8, ptr %a{i}, i64 {load.offset}")
        if load.type == "i1":
            lines.append(f"  %b{i} = load i8, ptr %o{i}")
            lines.append(f"  %v{i} = trunc i8 %b{i} to i1")
        else:
            lines.append(f"  %v{i} = load {load.type}, ptr %o{i}, align 1")
        passed.append(f"{load.text} %v{i}")
    body = "\n".join(lines)
    call = f'  call void @"{name}"({", ".join(passed)})'
    return f'define void @"kv_thunk_{name}"(ptr %args) {{\n{body}\n{call}\n  ret void\n}}\n'
