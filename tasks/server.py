"""A real Prefect server beside the corpus: started on loopback, stopped again, reopened on demand.

The server Prefect starts by itself when none is configured loses task records. Prefect reads its
address when it is first imported, so enter `PrefectServer` before anything imports it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from kernelvault.errors import OrchestrationFault

START_LIMIT_S = 90.0
STOP_LIMIT_S = 15.0

# No telemetry, and a console that belongs to the command line: records go to the server alone.
QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_CLI_PROMPT": "false",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "GX_ANALYTICS_ENABLED": "false",
}


class PrefectServer:
    """A context manager: inside, `url` is the API of a server that keeps this corpus' records.

    A PREFECT_API_URL that is already set wins: then that server is used and nothing is started.
    The process starts on entering; `wait_ready` blocks until it answers, so that other work can
    be done meanwhile. Enter it in the main thread: the server dies with the thread that made it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.url = os.environ.get("PREFECT_API_URL", "")

    def __enter__(self) -> PrefectServer:
        os.environ.update(QUIET)
        if self.url:
            return self
        self._folder.mkdir(parents=True, exist_ok=True)
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}/api"
        os.environ["PREFECT_HOME"] = str(self._folder)
        os.environ["PREFECT_API_URL"] = self.url
        self._process = _start(self._folder, port)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is None:
            return
        os.environ.pop("PREFECT_API_URL", None)
        self._process.terminate()
        try:
            self._process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @property
    def page(self) -> str:
        """The address of the web pages."""
        return self.url.removesuffix("/api")

    def wait_ready(self, limit_s: float = START_LIMIT_S) -> None:
        """Return once the server answers; raises OrchestrationFault when it does not in time."""
        deadline = time.monotonic() + limit_s
        while not _healthy(self.url):
            if self._process is not None and self._process.poll() is not None:
                raise OrchestrationFault("the Prefect server ended at once", self._advice())
            if time.monotonic() > deadline:
                raise OrchestrationFault(
                    f"no Prefect server answered at {self.url} within {limit_s:.0f} s",
                    self._advice(),
                )
            time.sleep(0.2)

    def _advice(self) -> str:
        if self._process is None:
            return "start that server, or unset PREFECT_API_URL to use one of the corpus' own"
        return f"read {self._folder / 'server.log'}; a damaged {self._folder} may be deleted"

    def wait_stopped(self) -> None:
        """Block until the server ends by itself (it does so when it is interrupted)."""
        if self._process is not None:
            self._process.wait()


def _start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    prefect = [sys.executable, "-m", "prefect", "server", "start"]
    command = [sys.executable, "-m", "tasks.die_with_parent", *prefect]
    with (folder / "server.log").open("wb") as log:
        return subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_server_environment(os.environ, folder, port),
            start_new_session=True,  # Ctrl-C is for us; we stop the server when all is recorded.
        )


def _server_environment(base: Mapping[str, str], folder: Path, port: int) -> dict[str, str]:
    own = {
        "PREFECT_HOME": str(folder),
        # The pages ask this address, not the one they came from.
        "PREFECT_SERVER_UI_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder}/prefect.db",
    }
    kept = {k: v for k, v in base.items() if k != "PREFECT_API_URL"}
    return {**kept, **QUIET, **own}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
