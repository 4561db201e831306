"""What device code asks of the process it is loaded into.

On a GPU there is nothing around a kernel. In the emulator there is the runner and the C library,
and a weak reference tells the two apart: it is null in a code object, and a function here. So
device code may ask for the device API of the emulator, for arithmetic and memory, for nothing else.
"""

from __future__ import annotations

import re

_DECLARED = re.compile(
    r"^declare (?P<weak>extern_weak )?[^@\n]*@(?P<name>\"[^\"\n]+\"|[\w.$]+)\(", re.MULTILINE
)
_GLOBAL = re.compile(
    r"^@(?P<name>\"[^\"\n]+\"|[\w.$]+) = (?P<linkage>external|extern_weak) (?P<rest>.*)$",
    re.MULTILINE,
)
_INDIRECT = re.compile(r"^@(?P<name>\"[^\"\n]+\"|[\w.$]+) = [^\n]*\bifunc\b", re.MULTILINE)
# Quotes inside constants are escaped, so no text of a candidate can look like this.
_ASSEMBLY = re.compile(r'^module asm "|\basm (?:\w+ )*"', re.MULTILINE)
# Shared memory of dynamic size is declared like a variable of someone else.
_LDS = re.compile(r"(?:\w+ )*global \[0 x ")
_API = frozenset(
    """kv_thread_idx kv_block_idx kv_block_dim kv_grid_dim kv_barrier kv_shuffle kv_ballot kv_lane
    kv_mfma_exchange kv_mfma_done kv_trap memcpy memmove memset memcmp strlen strcmp abs labs llabs
    abort printf puts putchar __assert_fail __cxa_pure_virtual __gxx_personality_v0 _Znwm _Znam
    _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm malloc free""".split()
)
_ARITHMETIC = re.compile(
    r"""_ZSt\d+__throw_\w+
    | (a?(sin|cos|tan)h?|(sin|cos)pi|sincos(pi)?|atan2|exp(2|10|m1)?|pow(i|n|r)?|log(2|10|1p|b)?
      |r?sqrt|r?cbrt|r?hypot|erf(c|cx|inv|cinv)?|[lt]gamma|lgamma_r|fabs|floor|ceil
      |l{0,2}r?(int|ound)|nearbyint|trunc|round|roundeven|fm(od|a|ax|in)|fdim|remainder|remquo
      |copysign|ldexp|frexp|modf|scalbl?n|ilogb|nextafter|[jy][01n])(f|l)?(_finite)?
    """,
    re.VERBOSE,
)


def forbidden(ir: str) -> tuple[str, ...]:
    """What LLVM IR of a device half asks for or holds and may not, sorted, each in words."""
    found = set()
    for declared in _DECLARED.finditer(ir):
        name = declared["name"].strip('"')
        if declared["weak"] or not _allowed(name):
            found.add(_words(name, bool(declared["weak"])))
    for variable in _GLOBAL.finditer(ir):
        name, weak = variable["name"].strip('"'), variable["linkage"] == "extern_weak"
        if weak or not (name in _API or _LDS.match(variable["rest"])):
            found.add(_words(name, weak))
    found |= {f"chooses {m['name']} when it is loaded" for m in _INDIRECT.finditer(ir)}
    if _ASSEMBLY.search(ir):
        found.add("holds assembly for the machine around the emulator")
    return tuple(sorted(found))


def _allowed(name: str) -> bool:
    known = name.startswith("llvm.") or name in _API
    return known or _ARITHMETIC.fullmatch(name) is not None


def _words(name: str, weak: bool) -> str:
    return f"refers {'weakly ' if weak else ''}to {name}, which is not on a GPU"
