"""`Link` to the first process of a container, by the stream that Docker calls attach."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable

from kernelvault.sandbox.link import MAX_POLL_S, Channel

_CHUNK = 1 << 18
_HEADER_BYTES = 8
_CHANNELS: dict[int, Channel] = {1: "answer", 2: "log"}


class DockerLink:
    """Docker sends pieces of both channels behind eight bytes: which one, and how many bytes.

    `remove` ends and removes the container. Shutting our side of the stream closes the runner's
    input, so that a container also stops when this process is killed.
    """

    def __init__(self, stream: socket.socket, remove: Callable[[], None]) -> None:
        self._stream = stream
        self._remove = remove
        self._data = bytearray()
        self._ended = False

    def send(self, data: bytes) -> None:
        self._stream.sendall(data)

    def receive(self, timeout_s: float) -> list[tuple[Channel, bytes]]:
        poll = select.poll()
        poll.register(self._stream, select.POLLIN)
        if not poll.poll(min(max(timeout_s, 0), MAX_POLL_S) * 1000):
            return []
        data = self._stream.recv(_CHUNK)
        if not data:
            return [("log", b""), ("answer", b"")]
        self._data += data
        found: list[tuple[Channel, bytes]] = []
        start = 0
        while len(self._data) >= start + _HEADER_BYTES:
            size = int.from_bytes(self._data[start + 4 : start + _HEADER_BYTES], "big")
            end = start + _HEADER_BYTES + size
            if len(self._data) < end:
                break
            channel = _CHANNELS.get(self._data[start])
            if channel is not None and size:
                found.append((channel, bytes(self._data[start + _HEADER_BYTES : end])))
            start = end
        del self._data[:start]
        return found

    def end(self) -> None:
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()
        # Takes a tenth of a second that nobody needs to wait for. The interpreter waits for threads
        # at its end, but not for those that start once it has begun to.
        if threading.main_thread().is_alive():
            threading.Thread(target=self._remove).start()
        else:
            self._remove()
