"""Reads bytes that hostile code may have written: into frozen records, or not at all.

Whatever comes out of a sandbox was written by a process in which a candidate or a problem file may
have run. `loads` takes JSON that every reader agrees on and that cannot exhaust this process;
`record` makes a dataclass of it, by its type hints, with exactly its fields. Neither raises
anything but Malformed. Limits are written into the hints: `Annotated[int, Between(0, 9)]`.
"""

from __future__ import annotations

import json
import math
import re
import types
import typing
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

R = TypeVar("R")

MAX_BYTES = 16 << 20
MAX_DEPTH = 32
MAX_CONTAINERS = 300_000
_MAX_DIGITS = 40
_SHOWN = 60

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Malformed(ValueError):
    """The bytes are not what they should be; the text says where and why, in printable words."""


@dataclass(frozen=True, slots=True)
class Between:
    """A number within bounds, both included."""

    low: float
    high: float

    def take(self, value: Any, where: str) -> Any:
        if not self.low <= value <= self.high:
            raise Malformed(f"{where} is {shown(value)}, not between {self.low} and {self.high}")
        return value


@dataclass(frozen=True, slots=True)
class AtMost:
    """A text, a list or an object that may be no longer: another one is refused."""

    length: int

    def take(self, value: Any, where: str) -> Any:
        if len(value) > self.length:
            raise Malformed(f"{where} has a length of {len(value)}, {self.length} is allowed")
        return value


@dataclass(frozen=True, slots=True)
class Cut:
    """A text for people: cut to a length, and rid of what could forge lines or steer a terminal."""

    length: int

    def take(self, value: Any, where: str) -> Any:
        return printable(value[: self.length])


Count = Annotated[int, Between(0, 1 << 53)]
Seconds = Annotated[float, Between(0, 1e7)]
Text = Annotated[str, Cut(2000)]
Name = Annotated[str, AtMost(1000), Cut(1000)]


def printable(text: str) -> str:
    """The text with every control character but line ends and tabs replaced."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def shown(value: object) -> str:
    """A few characters of any JSON value, for a message."""
    if isinstance(value, list | dict):
        return f"a{'n object' if isinstance(value, dict) else ' list'} of {len(value)}"
    text = repr(value[:_SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def loads(data: bytes, max_bytes: int = MAX_BYTES) -> Any:
    """A JSON value. Raises Malformed for what is too large or too deep, no UTF-8 or no JSON, holds
    a name twice, a number that is not finite or has too many digits, or half a surrogate pair."""
    if len(data) > max_bytes:
        raise Malformed(f"has {len(data)} bytes, {max_bytes} are allowed")
    _check_depth(data)
    try:
        value = json.loads(
            data.decode("utf-8"),
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_constant,
            object_pairs_hook=_members,
        )
    except Malformed:
        raise
    except UnicodeDecodeError as error:
        raise Malformed(f"is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"is not JSON at character {error.pos}: {error.msg}") from None
    # Only an escape can bring in a half: the decoder above refuses it as bytes.
    if _SURROGATE.search(data):
        _refuse_surrogates(value)
    return value


def _check_depth(data: bytes) -> None:
    # Counted before it is parsed: the parser recurses.
    depth = opened = 0
    for match in _BRACKET.finditer(_STRING.sub(b"", data)):
        if match[0] in b"[{":
            depth, opened = depth + 1, opened + 1
            if depth > MAX_DEPTH:
                raise Malformed(f"is nested deeper than {MAX_DEPTH}")
            if opened > MAX_CONTAINERS:
                raise Malformed(f"has more than {MAX_CONTAINERS} lists and objects")
        else:
            depth -= 1


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise Malformed(f"holds a number of {len(text)} digits")
    return int(text)


def _real(text: str) -> float:
    value = float(text) if len(text) <= 10 * _MAX_DIGITS else math.inf
    if not math.isfinite(value):
        raise Malformed(f"holds the number {text[:_MAX_DIGITS]}")
    return value


def _constant(text: str) -> Any:
    raise Malformed(f"holds {text}, which is no JSON")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("holds an object with a name twice")
    return found


def _refuse_surrogates(value: Any) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, str) and any("\ud800" <= c <= "\udfff" for c in item):
            raise Malformed("holds half a surrogate pair")


def record(kind: type[R], value: Any, where: str = "it") -> R:
    """A dataclass of a JSON object; fields with a default may be left out, unknown ones may not.

    Hints may be dataclasses, str, int, float, bool, None, Any, Literal, unions, `tuple[T, ...]`
    and `tuple[A, B]` (of lists), `dict[str, T]`, and Annotated with the limits of this module.
    Raises Malformed; a ValueError of a class's own checks becomes one.
    """
    found: R = _read(kind, value, where)
    return found


def read(kind: type[R], data: bytes, max_bytes: int = MAX_BYTES) -> R:
    """`record` of `loads`."""
    return record(kind, loads(data, max_bytes))


def _read(kind: Any, value: Any, where: str) -> Any:  # noqa: PLR0911  (one return per kind of hint)
    origin = typing.get_origin(kind)
    if origin is Annotated:
        base, *limits = typing.get_args(kind)
        value = _read(base, value, where)
        for limit in limits:
            value = limit.take(value, where)
        return value
    if origin in (typing.Union, types.UnionType):
        return _union(typing.get_args(kind), value, where)
    if origin is Literal:
        if not any(type(value) is type(one) and value == one for one in typing.get_args(kind)):
            raise Malformed(f"{where} is {shown(value)}")
        return value
    if origin is tuple:
        return _tuple(typing.get_args(kind), value, where)
    if origin is dict:
        inner = typing.get_args(kind)[1]
        members = _typed(dict, value, where).items()
        return {key: _read(inner, item, f"{where}[{shown(key)}]") for key, item in members}
    if is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind, value, where)
    if kind is Any:
        return value
    if kind is float and type(value) is int:
        return float(value)
    return _typed(kind, value, where)


def _typed(kind: type[R], value: Any, where: str) -> R:
    # Not isinstance: a boolean is no number here.
    if type(value) is not kind:
        raise Malformed(f"{where} is {shown(value)}, not {kind.__name__}")
    return value


def _union(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    wrong: list[Malformed] = []
    for kind in kinds:
        try:
            return _read(kind, value, where)
        except Malformed as error:
            wrong.append(error)
    # The last of the errors of `X | None` would only say that it is not None.
    raise wrong[0]


def _tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    items = _typed(list, value, where)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = kinds[:1] * len(items)
    if len(kinds) != len(items):
        raise Malformed(f"{where} has {len(items)} items, not {len(kinds)}")
    pairs = enumerate(zip(kinds, items, strict=True))
    return tuple(_read(kind, item, f"{where}[{index}]") for index, (kind, item) in pairs)


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    given = _typed(dict, value, where)
    hints, needed = _shape(kind)
    if unknown := [name for name in given if name not in hints]:
        raise Malformed(f"{where} has an unknown field {shown(unknown[0])}")
    if missing := [name for name in needed if name not in given]:
        raise Malformed(f"{where} has no {missing[0]!r}")
    values = {n: _read(hints[n], item, _inside(where, n)) for n, item in given.items()}
    try:
        return kind(**values)
    except Malformed:
        raise
    except ValueError as error:
        raise Malformed(f"{where}: {printable(str(error)[:200])}") from None


def _inside(where: str, name: str) -> str:
    return name if where == "it" else f"{where}.{name}"


@cache
def _shape(kind: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The hints of a dataclass's fields, and the names of those without a default."""
    hints = typing.get_type_hints(kind, include_extras=True)
    own = fields(kind)
    needed = [f.name for f in own if f.default is MISSING and f.default_factory is MISSING]
    return {f.name: hints[f.name] for f in own}, tuple(needed)
