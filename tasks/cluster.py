"""Ray: the only module that knows it. Starts or joins a cluster and fans units of work out.

A local cluster needs no network, keeps its files in a folder of its own and ends with this process.
Ray binds its ports on every interface whatever it is told, so a token keeps strangers out. With
`ray_address` set an existing cluster is joined; its nodes need the same installation as this one.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from kernelvault.errors import InfrastructureError, KernelVaultError, OrchestrationFault
from kernelvault.log import get_logger
from kernelvault.settings import Settings

U = TypeVar("U")
R = TypeVar("R")

POLL_S = 1.0
# Ray swaps the usual 127.0.0.1 for the public address of the host; this one it leaves alone.
LOOPBACK = "127.0.0.2"
OBJECT_STORE_BYTES = 100 * 2**20  # Results are small summaries; the default takes 30 % of memory.

log = get_logger("kernelvault.cluster")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[U, R]):
    """How one unit ended: exactly one of `value` and `error` is set."""

    unit: U
    value: R | None
    error: KernelVaultError | None


class RayCluster:
    """A context manager around a Ray connection. Enter it in the main thread.

    Ray's processes ask the kernel to be killed when the thread that started them ends.
    Raises OrchestrationFault when no cluster can be started or reached.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._folder: Path | None = None

    def __enter__(self) -> RayCluster:
        # Ray reads these from the environment alone, at import and in each of its processes.
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        _stop.clear()
        address = self._settings.ray_address
        on_terminate = signal.getsignal(signal.SIGTERM)
        try:
            self._join(address) if address else self._start()
        except (ConnectionError, RuntimeError, OSError, ValueError) as error:
            self._remove_folder()
            where = f"the Ray cluster at {address}" if address else "a local Ray cluster"
            step = "check ray_address (RAY_ADDRESS)" if address else "run `kernelvault doctor`"
            raise OrchestrationFault(f"cannot use {where}: {error}", step) from error
        signal.signal(signal.SIGTERM, on_terminate)  # Ray puts a handler of its own there.
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import ray

        ray.shutdown()
        self._remove_folder()

    def _start(self) -> None:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN_PATH", str(_token_file(self._settings.cache)))
        import ray

        # Not below the corpus: the path of a Unix socket has at most 107 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="kv-ray-"))
        ray.init(
            address="local",
            num_cpus=self._settings.workers,
            num_gpus=0,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=OBJECT_STORE_BYTES,
            _node_ip_address=LOOPBACK,
            _temp_dir=str(self._folder),
            _system_config={"task_oom_retries": 2},  # Ray would retry for ever.
        )
        _quieten()

    def _join(self, address: str) -> None:
        import ray

        _reachable(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        _quieten()

    def _remove_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _reachable(address: str) -> None:
    """Raise OSError when nothing answers at `host:port`: Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def _quieten() -> None:
    """Stop Ray from printing deaths and retries to stdout: they come back as outcomes."""
    from ray._private import worker

    worker._worker_logs_enabled = False


def _token_file(cache: Path) -> Path:
    """The secret local clusters of this user ask for; made once, readable by the owner alone."""
    path = cache / "ray" / "auth_token"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        fresh = path.with_name(f"auth_token.{os.getpid()}")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_hex(32))
        fresh.rename(path)
    return path


_stop = threading.Event()


def stop_all() -> None:
    """Make every running `map_units` cancel its work and end; safe from any thread."""
    _stop.set()


def map_units(
    function: Callable[[U], R],
    units: Sequence[U],
    *,
    in_flight: int,
    cpus: float = 1.0,
    resources: Mapping[str, float] | None = None,
    retries: int = 2,
    patience_s: float = 60.0,
) -> Iterator[Outcome[U, R]]:
    """Run `function(unit)` for every unit on the cluster, yield outcomes as they come.

    At most `in_flight` units wait or run at a time. A unit whose process or node dies, or whose
    error is `retryable`, is tried `retries` times more (it may so run twice: make it idempotent);
    any other error is its outcome at once. Raises OrchestrationFault when no node of the cluster
    has been able to serve a unit for `patience_s` seconds, saying what is missing.
    """
    import ray

    remote: Any = ray.remote(_call).options(
        num_cpus=cpus,
        resources=dict(resources or {}),
        max_retries=retries,
        retry_exceptions=_retryable_errors(),
    )
    needs = {"CPU": cpus, **(resources or {})}
    waiting = list(reversed(units))
    running: dict[Any, U] = {}
    last_served = time.monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < max(1, in_flight):
                unit = waiting.pop()
                running[remote.remote(function, unit)] = unit
            ready, _ = ray.wait(list(running), num_returns=1, timeout=POLL_S)
            if _stop.is_set():
                raise OrchestrationFault("the run was interrupted", "run the same command again")
            for ref in ready:
                yield _outcome(running.pop(ref), ref)
            if ready or not (missing := _missing(needs)):
                last_served = time.monotonic()
            elif time.monotonic() - last_served > patience_s:
                raise OrchestrationFault(missing, "add such a node or ask for less")
    finally:
        for ref in running:
            ray.cancel(ref, force=True)


def _call(function: Callable[[U], R], unit: U) -> R:
    return function(unit)


def _retryable_errors() -> list[type[BaseException]]:
    """Every fault class that says another try is worth it."""
    found: list[type[BaseException]] = []
    classes: list[type[KernelVaultError]] = [KernelVaultError]
    while classes:
        kind = classes.pop()
        classes += kind.__subclasses__()
        if kind.retryable:
            found.append(kind)
    return found


def _outcome(unit: U, ref: Any) -> Outcome[U, Any]:
    import ray
    from ray.exceptions import RayError, RayTaskError

    try:
        return Outcome(unit, ray.get(ref), None)
    except RayTaskError as error:
        cause = error.cause
        if isinstance(cause, KernelVaultError):
            return Outcome(unit, None, cause)
        log.error("a unit ended in an unexpected error", exc_info=error)
        text = f"unexpected {type(cause).__name__}: {cause}"
        return Outcome(unit, None, InfrastructureError(text, "see the log: `run --debug` shows it"))
    except RayError as error:
        cause_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        fault = OrchestrationFault(
            f"the worker process died ({type(error).__name__}: {cause_line})",
            "check memory with `kernelvault doctor`, use fewer --jobs, run again",
        )
        return Outcome(unit, None, fault)


def _missing(needs: Mapping[str, float]) -> str:
    """What no living node can give, as one sentence; empty when some node can."""
    import ray

    list_nodes: Any = ray.nodes
    nodes = [node["Resources"] for node in list_nodes() if node["Alive"]]
    if any(all(node.get(k, 0.0) >= v for k, v in needs.items()) for node in nodes):
        return ""
    wanted = ", ".join(f"{name}={amount:g}" for name, amount in sorted(needs.items()))
    best = {name: max((node.get(name, 0.0) for node in nodes), default=0.0) for name in needs}
    offered = ", ".join(f"{name}={amount:g}" for name, amount in sorted(best.items()))
    return f"no Ray node offers {wanted}: of {len(nodes)} living nodes the most is {offered}"
