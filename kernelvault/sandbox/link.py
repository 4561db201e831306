"""The way to the process inside a sandbox: bytes in, two channels of bytes out."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from kernelvault.errors import SandboxFault

Channel = Literal["log", "answer"]
_CHUNK = 1 << 18
# The most that `poll` is asked to wait: it takes no large numbers. Its callers look again.
MAX_POLL_S = 3600.0


class Link(Protocol):
    """A connection to one runner. Closing its input makes the runner end the sandbox."""

    def send(self, data: bytes) -> None:
        """Write to the runner's stdin; raises OSError when it has gone."""
        ...

    def receive(self, timeout_s: float) -> list[tuple[Channel, bytes]]:
        """What came within the time; empty bytes say that a channel has ended."""
        ...

    def end(self) -> None:
        """End the sandbox and everything in it; safe to repeat."""
        ...


class ProcessLink:
    """`Link` to a child process by three pipes."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], pass_fds: Sequence[int] = ()
    ) -> None:
        """Start `command`; raises SandboxFault when that is not possible."""
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=tuple(pass_fds),
                env=dict(env),
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxFault(f"{command[0]} cannot be started: {error}") from error
        assert self._process.stdout is not None and self._process.stderr is not None
        self._channels: dict[int, Channel] = {
            self._process.stdout.fileno(): "answer",
            self._process.stderr.fileno(): "log",
        }
        self._poll = select.poll()
        for descriptor in self._channels:
            self._poll.register(descriptor, select.POLLIN)

    def send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self._process.stdin.write(view) :]

    def receive(self, timeout_s: float) -> list[tuple[Channel, bytes]]:
        found: list[tuple[Channel, bytes]] = []
        for descriptor, _ in self._poll.poll(min(max(timeout_s, 0), MAX_POLL_S) * 1000):
            data = os.read(descriptor, _CHUNK)
            if not data:
                self._poll.unregister(descriptor)
            found.append((self._channels[descriptor], data))
        return found

    def end(self) -> None:
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
