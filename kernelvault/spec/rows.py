"""Records to table rows and back, driven by the records' own type hints.

Primitives, optional primitives, datetimes and tuples of strings are columns of their own; a
`Provenance` is flattened into four columns; `Verdict` and `KernelUsage` tuples become lists of
structs; every other nested value becomes one JSON text column. `from_row(cls, to_row(r)) == r`.
"""

from __future__ import annotations

import json
import types
import typing
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from kernelvault.spec.provenance import Provenance

R = TypeVar("R")

_PRIMITIVES = (str, int, float, bool, datetime)
_PROVENANCE_COLUMNS = {
    "repo": "source_repo",
    "commit": "source_commit",
    "path": "source_path",
    "license_spdx": "license_spdx",
}


def plain(value: Any) -> Any:
    """A record (or container of records) as JSON-able data: dicts, lists and primitives."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def build(kind: Any, value: Any) -> Any:
    """The inverse of `plain` for the type `kind`; raises ValueError or TypeError on a mismatch."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _build_union(typing.get_args(kind), value)
    if origin is tuple:
        args = typing.get_args(kind)
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(build(args[0], item) for item in value)
        return tuple(build(arg, item) for arg, item in zip(args, value, strict=True))
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        unknown = set(value) - set(hints)
        if unknown:
            raise ValueError(f"{kind.__name__} has no field {sorted(unknown)}")
        return kind(**{name: build(hints[name], item) for name, item in value.items()})
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _build_union(args: tuple[Any, ...], value: Any) -> Any:
    if value is None:
        return None
    present = [arg for arg in args if arg is not type(None)]
    return build(present[0], value) if len(present) == 1 else value


_HINTS: dict[Any, dict[str, Any]] = {}


def _hints(cls: Any) -> dict[str, Any]:
    """The resolved type hints of a record class; resolving them is slow, so once a class."""
    if cls not in _HINTS:
        hints = typing.get_type_hints(cls)
        # Class variables, such as the mark of a struct, are no fields.
        _HINTS[cls] = {k: v for k, v in hints.items() if typing.get_origin(v) is not ClassVar}
    return _HINTS[cls]


def dumps(value: Any) -> str:
    """Compact, key-sorted JSON text; refuses NaN and infinities, which no reader agrees on."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def to_row(record: Any) -> dict[str, Any]:
    """One table row for a record."""
    row: dict[str, Any] = {}
    hints = _hints(type(record))
    for field in fields(record):
        value = getattr(record, field.name)
        kind = hints[field.name]
        if kind is Provenance:
            row.update({col: getattr(value, key) for key, col in _PROVENANCE_COLUMNS.items()})
        elif _is_struct_list(kind):
            row[field.name] = [to_row(item) for item in value]
        elif _is_column(kind):
            row[field.name] = list(value) if isinstance(value, tuple) else value
        else:
            row[field.name] = dumps(value)
    return row


def from_row(cls: type[R], row: dict[str, Any]) -> R:
    """The record of a table row; columns the record does not know are ignored.

    Raises ValueError when the row holds an illegal record, KeyError when a column is missing.
    """
    values: dict[str, Any] = {}
    for name, kind in _hints(cls).items():
        if kind is Provenance:
            values[name] = Provenance(**{k: row[c] for k, c in _PROVENANCE_COLUMNS.items()})
        elif _is_struct_list(kind):
            item = typing.get_args(kind)[0]
            values[name] = tuple(from_row(item, entry) for entry in row[name])
        elif _is_column(kind):
            values[name] = build(kind, row[name])
        else:
            values[name] = build(kind, json.loads(row[name]))
    return cls(**values)


def _is_struct_list(kind: Any) -> bool:
    args = typing.get_args(kind)
    return typing.get_origin(kind) is tuple and getattr(args[0], "IS_STRUCT", False)


def _is_column(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return all(arg in _PRIMITIVES or arg is type(None) for arg in typing.get_args(kind))
    return kind in _PRIMITIVES or kind == tuple[str, ...]
