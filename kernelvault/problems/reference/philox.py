"""Random tensors from NumPy's Philox, the same bytes on every CPU.

`torch.randn` differs between CPU capabilities, so every seeded random operator is intercepted below
autograd and filled from our own stream instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelvault.problems.reference.reject import Rejected

Rng = np.random.Generator
Fill = Callable[[Rng, torch.Tensor, dict[str, Any]], Any]


def is_random(op: Any) -> bool:
    """Whether an ATen overload draws from torch's generator."""
    return torch.Tag.nondeterministic_seeded in getattr(op, "tags", ())


def _array(value: Any) -> Any:
    return value.double().numpy() if isinstance(value, torch.Tensor) else value


def _normal(rng: Rng, out: torch.Tensor, a: dict[str, Any]) -> Any:
    mean, std = _array(a.get("mean", 0.0)), _array(a.get("std", 1.0))
    return rng.standard_normal(tuple(out.shape)) * std + mean


def _uniform(rng: Rng, out: torch.Tensor, a: dict[str, Any]) -> Any:
    low, high = a.get("from", 0.0), a.get("to", 1.0)
    # 24 bits are exact in float32, so that rounding never reaches the excluded upper end.
    draws = rng.integers(0, 1 << 24, tuple(out.shape)) / float(1 << 24)
    return low + (high - low) * draws


def _integers(rng: Rng, out: torch.Tensor, a: dict[str, Any]) -> Any:
    low = a.get("low", a.get("from", 0)) or 0
    high = a.get("high", a.get("to"))
    return rng.integers(low, 128 if high is None else high, tuple(out.shape))


def _bernoulli(rng: Rng, out: torch.Tensor, a: dict[str, Any]) -> Any:
    # bernoulli(probabilities) takes them as `self`, the other overloads as `p`.
    chance = _array(a["p"] if "p" in a else a["self"])
    return rng.integers(0, 1 << 24, tuple(out.shape)) / float(1 << 24) < chance


def _permutation(rng: Rng, out: torch.Tensor, a: dict[str, Any]) -> Any:
    return rng.permutation(out.numel())


_FILLS: dict[str, Fill] = {
    "normal_": _normal,
    "randn": _normal,
    "randn_like": _normal,
    "normal": _normal,
    "uniform_": _uniform,
    "rand": _uniform,
    "rand_like": _uniform,
    "randint": _integers,
    "randint_like": _integers,
    "random_": _integers,
    "bernoulli_": _bernoulli,
    "bernoulli": _bernoulli,
    "randperm": _permutation,
}


class PhiloxMode(TorchDispatchMode):  # type: ignore[no-untyped-call, misc, unused-ignore]
    """While active, random tensors come from Philox under `seed`.

    Python's and NumPy's global generators are seeded too, for files that use them.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        random.seed(seed)
        np.random.seed(seed)
        self._rng = np.random.Generator(np.random.Philox(seed))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not is_random(func):
            return func(*args, **kwargs)
        name = func._schema.name.split("::")[1]
        if name not in _FILLS:
            step = "draw inputs with randn, rand, randint, bernoulli or randperm"
            raise Rejected("random", f"{func} has no seeded equivalent here", step)
        named = _named(func, args, kwargs)
        # The operator itself gives shape and dtype; its own values are overwritten.
        out: torch.Tensor = func(*args, **kwargs)
        values = np.asarray(_FILLS[name](self._rng, out, named))
        out.detach().copy_(torch.from_numpy(values.reshape(tuple(out.shape))))
        return out


def _named(func: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    names = [argument.name for argument in func._schema.arguments]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    for argument in func._schema.arguments:
        if argument.name not in given and argument.has_default_value():
            given[argument.name] = argument.default_value
    return given


class ForbidRandom(TorchDispatchMode):  # type: ignore[no-untyped-call, misc, unused-ignore]
    """While active, a random operator rejects the problem."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if is_random(func):
            step = "take random values as inputs, and call eval() on dropout"
            raise Rejected("random", f"forward draws random numbers ({func})", step)
        return func(*args, **(kwargs or {}))
