"""What the interpreter asks of its caller, and what it raises."""

from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Handle = Any  # triton.runtime.interpreter.TensorHandle: .data is an Array, .dtype a Triton type
Type = Any  # a Triton type: scalar, pointer or block


class Guard(Protocol):
    """Judges memory accesses before they happen."""

    def check(
        self,
        addresses: NDArray[np.uint64],
        itemsize: int,
        mask: NDArray[np.bool_],
        access: str,
    ) -> None:
        """Raise when an active element leaves the memory that the launch may touch.

        `addresses` (bytes) and `mask` have one shape; an element is active where `mask` is true and
        covers `itemsize` bytes. `access` is `load`, `store` or `atomic`.
        """


class Refused(Exception):
    """The interpreter cannot compute an operation rightly: no result instead of a wrong one."""

    def __init__(self, operation: str, dtype: str = "", why: str = "") -> None:
        self.operation = operation
        self.dtype = dtype
        self.why = why
        super().__init__(operation, dtype, why)

    def __str__(self) -> str:
        text = f"the interpreter cannot compute {self.operation}"
        text += f" of {self.dtype}" if self.dtype else ""
        return text + (f": {self.why}" if self.why else "")


_refusals: list[str] = []


def refusals() -> list[str]:
    """What was refused in this process, also where the caller caught the exception."""
    return list(_refusals)


def refuse(operation: str, dtype: object = "", why: str = "") -> NoReturn:
    """Raise `Refused` for `operation` on values of `dtype` (a Triton type or text)."""
    refused = Refused(operation, str(dtype), why)
    _refusals.append(str(refused))
    raise refused
