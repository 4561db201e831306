"""Which device nodes a job gets, and what it is told where there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from folders import own_tmp, sandboxes_in

from kernelvault.errors import SandboxUnavailable
from kernelvault.sandbox import Job, Sandbox, devices, open_sandbox
from kernelvault.sandbox.contract import Device

AMD = ("kfd", "dri/card0", "dri/renderD128", "dri/renderD129")
NVIDIA = ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
OTHERS = ("null", "sda", "nvidia-caps", "nvidia_other", "dri/by-path", "kvm", "dri/controlD64")


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    (tmp_path / "dri").mkdir()
    for name in (*AMD, *NVIDIA, *OTHERS):
        (tmp_path / name).touch()
    return tmp_path


def names(found: devices.Nodes, dev: Path) -> set[str]:
    return {str(path.relative_to(dev)) for path in found.paths}


def test_a_job_that_asks_for_nothing_gets_no_node(dev: Path) -> None:
    assert devices.find((), dev) == devices.Nodes()


@pytest.mark.parametrize(("device", "own"), [("amd", AMD), ("nvidia", NVIDIA)])
def test_a_job_gets_the_nodes_of_its_device_alone(
    device: Device, own: tuple[str, ...], dev: Path
) -> None:
    assert names(devices.find((device,), dev), dev) == set(own)


def test_both_devices_may_be_asked_for(dev: Path) -> None:
    assert names(devices.find(("amd", "nvidia"), dev), dev) == {*AMD, *NVIDIA}


@pytest.mark.parametrize(("device", "node"), [("amd", "kfd"), ("nvidia", "nvidiactl")])
def test_a_missing_driver_is_named_with_a_next_step(device: Device, node: str, dev: Path) -> None:
    (dev / node).unlink()
    with pytest.raises(SandboxUnavailable, match=f"no {dev / node}") as caught:
        devices.find((device,), dev)
    assert f"load the {device} driver" in caught.value.next_step


def test_nodes_that_some_machines_lack_are_left_out(dev: Path) -> None:
    for name in ("nvidia-uvm-tools", "nvidia-modeset", "dri/card0"):
        (dev / name).unlink()
    found = names(devices.find(("nvidia", "amd"), dev), dev)
    assert found == {*NVIDIA, *AMD} - {"nvidia-uvm-tools", "nvidia-modeset", "dri/card0"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to groups")
def test_groups_are_those_that_may_open_a_node_without_the_one_of_root(dev: Path) -> None:
    modes = {"kfd": (44, 0o660), "dri/card0": (105, 0o660), "dri/renderD128": (105, 0o660)}
    for name, (group, mode) in {**modes, "dri/renderD129": (7, 0o600)}.items():
        os.chown(dev / name, 0, group)
        (dev / name).chmod(mode)
    for name in NVIDIA:
        os.chown(dev / name, 0, 0)
        (dev / name).chmod(0o666)
    assert devices.find(("amd", "nvidia"), dev).groups == (44, 105)


def test_present_names_the_devices_whose_driver_is_loaded(dev: Path) -> None:
    assert devices.present(dev) == ("amd", "nvidia")
    (dev / "kfd").unlink()
    assert devices.present(dev) == ("nvidia",)
    (dev / "nvidiactl").unlink()
    assert devices.present(dev) == ()


def absent(device: Device) -> None:
    if device in devices.present():
        pytest.skip(f"this machine has an {device} device")


@pytest.mark.parametrize("device", ["amd", "nvidia"])
def test_a_job_for_a_device_that_is_not_here_names_it_and_leaves_nothing(
    device: Device, backend: Sandbox
) -> None:
    absent(device)
    with own_tmp() as folder:
        with pytest.raises(SandboxUnavailable, match="this machine has no /dev/") as caught:
            backend.run(Job(("true",), devices=(device,)))
        assert sandboxes_in(folder) == []
    assert f"load the {device} driver" in caught.value.next_step


def test_without_isolation_a_missing_device_is_named_too() -> None:
    absent("amd")
    with pytest.raises(SandboxUnavailable, match="this machine has no /dev/kfd"):
        open_sandbox("subprocess").run(Job(("true",), devices=("amd",)))


def test_capabilities_call_devices_that_are_not_here_absent(backend: Sandbox) -> None:
    absent("amd")
    absent("nvidia")
    assert not backend.capabilities().device_passthrough
    assert backend.capabilities().level("devices") == "absent"
