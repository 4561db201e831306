"""What a Triton code object must be, whoever wrote it: an ELF file for the target's GPU."""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterable

from kernelvault.spec.strict import Malformed

_HEADER = struct.Struct("<4sBBxB8x2xH28xI")
_MAGIC, _CLASS_64, _LITTLE, _HSA, _AMDGPU = b"\x7fELF", 2, 1, 64, 224
_MACHINE = 0xFF
# EF_AMDGPU_MACH_* of LLVM's AMDGPU guide.
_MACHINES = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F}
_DEFINED = re.compile(r"\bdef[\s\\]+(\w+)")


def check_code_object(name: str, target: str, data: bytes) -> None:
    """Raises Malformed when `data` is no code object for `target`."""
    if len(data) < _HEADER.size:
        raise Malformed(f"{name} has {len(data)} bytes, which is no code object")
    magic, bits, order, system, machine, flags = _HEADER.unpack_from(data)
    if (magic, bits, order, system, machine) != (_MAGIC, _CLASS_64, _LITTLE, _HSA, _AMDGPU):
        raise Malformed(f"{name} is no code object of an AMD GPU")
    if flags & _MACHINE != _MACHINES[target]:
        raise Malformed(f"{name} is a code object for another GPU than {target}")


def check_names(names: Iterable[str], source: str) -> None:
    """Raises Malformed when a kernel is named like no function in `source`."""
    defined = set(_DEFINED.findall(unicodedata.normalize("NFKC", source)))
    for name in names:
        if name not in defined:
            raise Malformed(f"the kernel {name[:100]!r} is not in the source")
