"""The docker backend: one container of Docker Engine for each sandbox, on this machine.

The image is one of ours, found by its label. Its second label says whose root filesystem it has:
`own`, or `host`, an empty one over which the `/usr` of this machine is shown read-only.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import docker
from docker.types import DeviceRequest, LogConfig, Ulimit
from docker.types import Mount as Bind
from requests.exceptions import RequestException

from kernelvault.errors import SandboxFault, SandboxUnavailable
from kernelvault.sandbox import devices, seccomp
from kernelvault.sandbox.contract import (
    Capabilities,
    Guarantee,
    Job,
    Limits,
    Mount,
    SandboxResult,
    WarmJob,
    WarmSandbox,
)
from kernelvault.sandbox.docker_link import DockerLink
from kernelvault.sandbox.engine import Engine
from kernelvault.sandbox.owner import identity, lives
from kernelvault.sandbox.reaper import reap
from kernelvault.sandbox.session import Place, Session
from kernelvault.sandbox.setup import (
    RUNNER_INSIDE,
    SHARED_MEMORY_BYTES,
    Setup,
    input_folder,
    runner_command,
    runner_mounts,
    runner_python,
)

IMAGE_LABEL = "org.kernelvault.sandbox"
ROOTFS_LABEL = "org.kernelvault.rootfs"
OWNER_LABEL = "org.kernelvault.owner"
NO_IMAGE = "make image-local (from this machine's files), or make images"
NO_NVIDIA = "install the NVIDIA Container Toolkit and restart dockerd"
_USER = 10001
_CPUS = 2
_TIMEOUT_S = 60
_GONE_S = 5
# Beside a task stands the runner; its fork that packs comes when the task has gone.
_OWN_PROCESSES = 1
_FOLDERS = ("/out", "/tmp", "/dev/shm")
_HOST_PATHS = ("/usr", "/etc/ld.so.cache", "/etc/alternatives")
_COUNTERS = {
    "1": "/sys/fs/cgroup/memory/memory.oom_control",
    "2": "/sys/fs/cgroup/memory.events",
}
_Errors = (docker.errors.DockerException, RequestException, OSError)


def image_present() -> bool:
    """Whether a daemon answers and has one of our images; False too when it cannot be asked."""
    try:
        with contextlib.closing(docker.from_env(timeout=5)) as client:
            return bool(_images(client))
    except _Errors:
        return False


def _images(client: docker.DockerClient) -> list[dict[str, Any]]:
    found = client.api.images(filters={"label": f"{IMAGE_LABEL}=1"})
    return sorted(found, key=lambda image: int(image["Created"]), reverse=True)


def _bind(mount: Mount) -> Bind:
    target = str(mount.target or mount.source)
    return Bind(target, str(mount.source), type="bind", read_only=True, propagation="rprivate")


class Docker:
    """`Sandbox` on Docker Engine. Raises SandboxUnavailable without a daemon or an image of ours.

    The daemon is the one that `DOCKER_HOST` names, by default the one of this machine. It must see
    the same files as this process does.
    """

    name = "docker"

    def __init__(self) -> None:
        try:
            self._client = docker.from_env(timeout=_TIMEOUT_S)
            self._api = self._client.api
            self._info = self._client.info()
            images = _images(self._client)
        except _Errors as error:
            raise SandboxUnavailable(
                f"no docker daemon answers: {error}",
                "apt-get install docker.io and start dockerd, or set DOCKER_HOST",
            ) from error
        if not images:
            raise SandboxUnavailable("the docker daemon has no image of ours", NO_IMAGE)
        self._image = str(images[0]["Id"])
        self._host_rootfs = images[0]["Labels"].get(ROOTFS_LABEL) == "host"
        reap()
        self._reap_containers()
        # All containers have one uid: a limit that counts by uid would be one for all together.
        self._engine = Engine(
            self._start, lambda memory_bytes: None, count_by_uid=not self._info.get("PidsLimit")
        )
        try:
            probe = self.run(Job(("true",), limits=Limits(wall_s=10)))
        except SandboxFault as fault:
            reason = f"docker does not work on this machine: {fault.cause}"
            raise SandboxUnavailable(reason, "look at the log of dockerd") from fault
        if not probe.ok:
            text = probe.log.decode(errors="replace").strip()[:300]
            raise SandboxUnavailable(f"docker does not work on this machine: {text}", NO_IMAGE)

    def capabilities(self) -> Capabilities:
        """What the daemon says that it enforces."""
        group = f"control group, version {self._info.get('CgroupVersion', '1')}"
        can = {name: bool(self._info.get(name)) for name in ("MemoryLimit", "PidsLimit")}
        found = devices.present()
        return Capabilities(
            (
                Guarantee("files", "enforced", "read-only image; inputs read-only"),
                Guarantee("network", "enforced", "network none"),
                Guarantee("processes of others", "enforced", "pid namespace"),
                Guarantee(
                    "privileges", "enforced", f"uid {_USER}, no capabilities, no-new-privileges"
                ),
                Guarantee("system calls", "enforced", "seccomp filter"),
                Guarantee("memory", "enforced" if can["MemoryLimit"] else "absent", group),
                Guarantee("process count", "enforced" if can["PidsLimit"] else "absent", group),
                Guarantee(
                    "CPU time", "enforced", f"RLIMIT_CPU for each process, {_CPUS} CPUs at once"
                ),
                Guarantee("wall time", "enforced", "timer of the runner and of the supervisor"),
                Guarantee("file size", "enforced", "RLIMIT_FSIZE and sized tmpfs"),
                Guarantee("log and result size", "enforced", "counted by the supervisor"),
                Guarantee("environment", "enforced", "made for the container"),
                Guarantee("end with the supervisor", "enforced", "end of the runner's input"),
                Guarantee("devices", "enforced" if found else "absent", ", ".join(found) or "none"),
            )
        )

    def run(self, job: Job) -> SandboxResult:
        """Run a job; raises SandboxFault when the container cannot be started."""
        return self._engine.run(job)

    def warm(self, job: WarmJob) -> WarmSandbox:
        """A container that stays; its tasks share a uid, and never live at the same time."""
        return self._engine.warm(job)

    def _start(self, setup: Setup) -> Session:
        devices.find(setup.devices)  # raises when one is missing
        folder = input_folder()
        try:
            container = self._create(setup, folder)
            try:
                params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                attached = self._api.attach_socket(container, params)
                self._api.start(container)
            except BaseException:
                self._remove(container)
                raise
        except _Errors as error:
            shutil.rmtree(folder, ignore_errors=True)
            reason = getattr(error, "explanation", None) or error
            step = NO_NVIDIA if "could not select device driver" in str(reason) else ""
            raise SandboxFault(f"the container did not start: {reason}", step) from error
        # The client wraps the socket for reading alone.
        link = DockerLink(attached._sock, lambda: self._remove(container))
        return Session(link, Place(folder), died_of_memory=lambda: self._died_of_memory(container))

    def _create(self, setup: Setup, folder: Path) -> str:
        mounts = [Mount(folder, Path("/in")), *runner_mounts(), *setup.mounts]
        if self._host_rootfs:
            mounts += [Mount(path) for path in map(Path, _HOST_PATHS) if path.exists()]
        nodes = devices.find([device for device in setup.devices if device == "amd"])
        size = f"rw,nosuid,nodev,mode=1777,size={setup.tmp_bytes}"
        files = max(setup.out_bytes, setup.tmp_bytes)
        command = runner_command(
            setup,
            str(runner_python()) if self._host_rootfs else "python3",
            RUNNER_INSIDE,
            _FOLDERS,
            alone=True,
            oom=_COUNTERS.get(str(self._info.get("CgroupVersion", "1"))),
        )
        host = self._api.create_host_config(
            network_mode="none",
            read_only=True,
            mem_limit=setup.memory_bytes,
            memswap_limit=setup.memory_bytes,
            pids_limit=setup.processes + _OWN_PROCESSES,
            nano_cpus=min(_CPUS, int(self._info.get("NCPU", _CPUS))) * 10**9,
            cap_drop=["ALL"],
            security_opt=[
                "no-new-privileges",
                "seccomp=" + json.dumps(seccomp.rules(setup.profile)),
            ],
            ipc_mode="private",
            shm_size=min(setup.tmp_bytes, SHARED_MEMORY_BYTES),
            # Compilers and just-in-time loaders run what they write to /tmp; results only leave.
            tmpfs={
                "/tmp": f"{size},exec",
                "/out": f"rw,nosuid,nodev,noexec,mode=1777,size={setup.out_bytes}",
                # Over the one that Docker mounts, in which a task could leave names.
                "/dev/mqueue": "ro,nosuid,nodev,noexec,size=4k",
            },
            log_config=LogConfig(type="none"),
            ulimits=[
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="fsize", soft=files, hard=files),
            ],
            mounts=[_bind(mount) for mount in mounts if self._shown(mount)],
            devices=[f"{path}:{path}:rwm" for path in nodes.paths],
            group_add=[str(group) for group in nodes.groups],
            device_requests=[
                DeviceRequest(driver="nvidia", count=-1, capabilities=[["gpu"]])
                for device in setup.devices
                if device == "nvidia"
            ],
        )
        made = self._api.create_container(
            self._image,
            entrypoint=command[:1],
            command=command[1:],
            user=f"{_USER}:{_USER}",
            hostname="sandbox",
            working_dir="/tmp",
            environment=dict(setup.env),
            stdin_open=True,
            labels={OWNER_LABEL: identity()},
            host_config=host,
        )
        return str(made["Id"])

    def _shown(self, mount: Mount) -> bool:
        """An image with programs of its own keeps its `/usr`; over the host's, parts are there."""
        return not (mount.target or mount.source).is_relative_to("/usr") or (
            self._host_rootfs and str(mount.source) == "/usr"
        )

    def _remove(self, container: str) -> None:
        # Another process that reaps may have been faster.
        with contextlib.suppress(*_Errors):
            self._api.remove_container(container, force=True, v=True)

    def _died_of_memory(self, container: str) -> bool:
        with contextlib.suppress(*_Errors):
            self._api.wait(container, timeout=_GONE_S)
            return bool(self._api.inspect_container(container)["State"]["OOMKilled"])
        return False

    def _reap_containers(self) -> None:
        """Remove the containers of supervisors that no longer run."""
        for found in self._api.containers(all=True, filters={"label": OWNER_LABEL}):
            if not lives(str(found["Labels"][OWNER_LABEL])):
                self._remove(found["Id"])
