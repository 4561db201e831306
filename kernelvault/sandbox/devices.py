"""The device nodes of GPUs, and the groups that may open them."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelvault.errors import SandboxUnavailable
from kernelvault.sandbox.contract import Device

_PATTERNS: dict[Device, tuple[str, ...]] = {
    "amd": ("kfd", "dri/card*", "dri/renderD*"),
    "nvidia": ("nvidia[0-9]*", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"),
}
_NEEDED: dict[Device, str] = {"amd": "kfd", "nvidia": "nvidiactl"}


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes to show, and the numeric groups (on ROCm machines: video and render) that own them."""

    paths: tuple[Path, ...] = ()
    groups: tuple[int, ...] = ()


def find(devices: Sequence[Device], dev: Path = Path("/dev")) -> Nodes:
    """The nodes of the wanted devices. Raises SandboxUnavailable when a driver is not there."""
    paths: list[Path] = []
    for device in devices:
        if not (dev / _NEEDED[device]).exists():
            raise SandboxUnavailable(
                f"this machine has no {dev / _NEEDED[device]}",
                f"load the {device} driver, or pass the device into this container",
            )
        for pattern in _PATTERNS[device]:
            paths += sorted(dev.glob(pattern))
    groups = {path.stat().st_gid for path in paths if path.stat().st_mode & stat.S_IRWXG}
    return Nodes(tuple(paths), tuple(sorted(groups - {0})))


def present(dev: Path = Path("/dev")) -> tuple[Device, ...]:
    """The devices whose driver is loaded here."""
    return tuple(device for device, node in _NEEDED.items() if (dev / node).exists())
