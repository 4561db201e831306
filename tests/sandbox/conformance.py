"""What the conformance tests share: short ways to run something in the sandbox under test."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from backends import AsUser, as_user

from kernelvault.sandbox import (
    Capabilities,
    Job,
    Limits,
    Mount,
    Sandbox,
    SandboxResult,
    open_sandbox,
)
from kernelvault.sandbox.contract import ENDINGS

T = TypeVar("T")
MiB = 1 << 20
SURVEY = Path(__file__).with_name("conformance_survey.py")
_known: dict[tuple[str, str], Any] = {}


def limits(**changes: Any) -> Limits:
    """Enough for what the tests run on a busy machine."""
    return Limits(**{"wall_s": 30.0, "cpu_s": 10, **changes})


def shell(script: str, inputs: Mapping[str, bytes | Path] | None = None, **changes: Any) -> Job:
    return Job(("/bin/sh", "-c", script), inputs or {}, limits=limits(**changes))


def python(code: str, inputs: Mapping[str, bytes | Path] | None = None, **changes: Any) -> Job:
    return Job(("python3", "-c", code), inputs or {}, limits=limits(**changes))


@dataclass(frozen=True)
class Box:
    """The sandbox under test. Every result from it is checked to agree with itself."""

    sandbox: Sandbox
    name: str

    def run(self, job: Job) -> SandboxResult:
        began = time.monotonic()
        result = self.sandbox.run(job)
        return agrees(result, job.limits, time.monotonic() - began)

    def argv(self, *argv: str, mounts: tuple[Mount, ...] = (), **rest: Any) -> SandboxResult:
        return self.run(Job(argv, mounts=mounts, limits=limits(**rest)))

    def argv_with(self, inputs: Mapping[str, bytes | Path]) -> SandboxResult:
        return self.run(Job(("true",), inputs, limits=limits()))

    def shell(self, script: str, *inputs: Mapping[str, Any], **changes: Any) -> SandboxResult:
        return self.run(shell(script, *inputs, **changes))

    def python(self, code: str, *inputs: Mapping[str, Any], **changes: Any) -> SandboxResult:
        return self.run(python(code, *inputs, **changes))

    def at_once(self, jobs: Sequence[Job]) -> list[SandboxResult]:
        """The results of all jobs, of which eight run at the same time, in eight threads."""
        if isinstance(self.sandbox, AsUser):
            return as_user(lambda: _at_once(open_sandbox("bubblewrap"), jobs))
        return _at_once(self.sandbox, jobs)

    def one_of(self, jobs: Mapping[Any, Job], key: Any) -> SandboxResult:
        """The result of one of the jobs, which are all run when the first of them is asked for."""
        known = (self.name, str(sorted(map(str, jobs))))
        if known not in _known:
            _known[known] = dict(zip(jobs, self.at_once(list(jobs.values())), strict=True))
        return _known[known][key]

    def once(self, get: Callable[[Box], T]) -> T:
        """What `get` finds out here, found out once for all tests that look at it."""
        key = (self.name, get.__qualname__)
        if key not in _known:
            _known[key] = get(self)
        return _known[key]


def _at_once(sandbox: Sandbox, jobs: Sequence[Job]) -> list[SandboxResult]:
    def one(job: Job) -> SandboxResult:
        began = time.monotonic()
        result = sandbox.run(job)
        return agrees(result, job.limits, time.monotonic() - began)

    with ThreadPoolExecutor(max_workers=8) as threads:
        return list(threads.map(one, jobs))


def agrees(result: SandboxResult, limits: Limits, waited_s: float) -> SandboxResult:
    """The result, whose fields must not contradict each other, its limits or the clock."""
    assert result.ended in ENDINGS
    assert (result.exit_code is not None) == (result.ended == "exited")
    assert (result.signal is not None) == (result.ended == "signalled")
    assert result.ok == (result.exit_code == 0)
    assert len(result.log) <= limits.log_bytes
    assert sum(map(len, result.files.values())) <= limits.out_bytes
    if result.ended not in ("exited", "signalled", "cpu_limit"):
        assert not result.files
        assert not result.notes
    assert 0 <= result.wall_s <= waited_s
    assert result.cpu_s >= 0
    return result


def survey(box: Box) -> dict[str, Any]:
    """What the program `conformance_survey.py` saw inside."""
    result = box.run(
        Job(
            ("python3", "/in/survey.py"),
            {"survey.py": SURVEY.read_bytes(), "victim": b"as given"},
            limits=limits(open_files=100, processes=50, tmp_bytes=8 * MiB, out_bytes=4 * MiB),
        )
    )
    assert result.ok, result.log.decode()
    return json.loads(result.files["facts.json"])


def capabilities(box: Box) -> Capabilities:
    return box.sandbox.capabilities()


def mark() -> str:
    """A number of seconds that no other process sleeps."""
    return f"{random.SystemRandom().randrange(10**6, 10**9)}.25"


def sleepers(mark: str) -> list[str]:
    """The processes of this machine that sleep for so long, wherever they are."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().split(b"\0")[:2] == [b"sleep", mark.encode()]:
                found.append(path.parent.name)
        except OSError:
            continue  # it ended while we looked
    return found
