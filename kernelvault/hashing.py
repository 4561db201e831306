"""Content addresses: canonical JSON (RFC 8785, floats as tagged hex) under SHA-256.

Floats are written as `{"float": "0x1.8p+1"}` so that an id never depends on a decimal printer,
and a record differs from a string that looks like it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Serialise `value` (None, bool, int, float, str, list, mapping) to its one canonical form.

    Raises TypeError for any other type and for non-string keys.
    """
    return json.dumps(_canonical(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _canonical(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"canonical JSON needs string keys, got {key!r}")
        # RFC 8785 orders keys by their UTF-16 code units.
        ordered = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be"))
        return {key: _canonical(item) for key, item in ordered}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_canonical(item) for item in value]
    raise TypeError(f"canonical JSON cannot hold {type(value).__name__}")


def sha256_bytes(data: bytes) -> str:
    """Lower-case hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def content_id(kind: str, value: Any) -> str:
    """SHA-256 of `value` under a domain `kind`, so that ids of different kinds never collide."""
    return sha256_bytes(canonical_json([kind, value]))
