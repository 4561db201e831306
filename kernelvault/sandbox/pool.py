"""Sandboxes started before their job is known. Each is used once; a thread starts the next one and
ends the used one."""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections import OrderedDict

from kernelvault.errors import KernelVaultError
from kernelvault.sandbox.session import Session
from kernelvault.sandbox.setup import Setup, Start

_READY_S = 30.0
_KINDS = 4
_MAX_RETIRED = 4
_Age = tuple[tuple[int, int, int], ...]


class Pool:
    """Keeps one ready sandbox for each of the `_KINDS` setups used last.

    A setup gets a spare one from its second use on: a command that runs one job starts one sandbox.
    """

    def __init__(self, start: Start) -> None:
        self._start = start
        self._reset()
        atexit.register(self.close)

    def take(self, setup: Setup) -> Session:
        """A ready sandbox nobody has used. Raises SandboxFault when none can be started."""
        if self._owner != os.getpid():
            self._reset()  # a forked copy: neither the spares nor the thread are ours
        age = setup.age()
        with self._lock:
            known = setup in self._spares
            spare = self._spares.pop(setup, None)
            self._spares[setup] = None
            old = [self._spares.popitem(last=False)[1]] if len(self._spares) > _KINDS else []
        found: Session | None = None
        if spare is not None:
            session, born = spare
            if born == age and session.stands():
                found = session
            else:
                session.end()
        for entry in old:
            if entry is not None:
                entry[0].end()
        if found is None:
            found = self._ready(setup)
        if known:
            self._wish(setup)
        return found

    def retire(self, session: Session) -> None:
        """End a used sandbox in which nothing runs any more; its caller need not wait for that."""
        with self._lock:
            later = (
                self._owner == os.getpid()
                and self._thread is not None
                and not self._closed
                and self._retired < _MAX_RETIRED
            )
            self._retired += later
        if later:
            self._work.put(session)
        else:
            session.end()

    def close(self) -> None:
        """End the spare sandboxes and the thread."""
        if self._owner != os.getpid():
            return
        with self._lock:
            self._closed = True
            spares = [entry for entry in self._spares.values() if entry is not None]
            self._spares.clear()
            thread = self._thread
        if thread is not None:
            self._work.put(None)
            thread.join()
        for session, _ in spares:
            session.end()

    def _reset(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()  # whoever held the old one when we were forked is not here
        self._spares: OrderedDict[Setup, tuple[Session, _Age] | None] = OrderedDict()
        self._work: queue.SimpleQueue[Setup | Session | None] = queue.SimpleQueue()
        self._retired = 0
        self._thread: threading.Thread | None = None
        self._closed = False

    def _ready(self, setup: Setup) -> Session:
        session = self._start(setup)
        session.wait_ready(_READY_S)
        return session

    def _wish(self, setup: Setup) -> None:
        with self._lock:
            if self._closed:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, daemon=True)
                self._thread.start()
        self._work.put(setup)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            if isinstance(work, Setup):
                self._refill(work)
                continue
            work.end()
            with self._lock:
                self._retired -= 1

    def _refill(self, setup: Setup) -> None:
        with self._lock:
            wanted = not self._closed and self._spares.get(setup, True) is None
        if not wanted:
            return
        try:
            age = setup.age()
            session = self._ready(setup)
        except (KernelVaultError, OSError):
            return  # the next caller starts its own, and is told why that fails
        with self._lock:
            kept = not self._closed and self._spares.get(setup, True) is None
            if kept:
                self._spares[setup] = (session, age)
        if not kept:
            session.end()
