"""Where a source came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a source came from. `license_spdx` is an SPDX expression or NOASSERTION."""

    repo: str
    commit: str
    path: str
    license_spdx: str
