"""Runs one wrapped command, watches its limits and tells how it ended; shared by all backends.

The payload's log comes on our stderr, a tar of `/out` on our stdout.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kernelvault.errors import SandboxFault
from kernelvault.sandbox.archive import read_archive
from kernelvault.sandbox.contract import Job, Limits, SandboxResult
from kernelvault.sandbox.streams import Stream, drain

PREFIX = "kernelvault-sandbox-"
TIMES_FILE = "kernelvault-times"
NO_ARCHIVE = "the payload's wrapper left no archive"
# A shell reports a signal as 128 + n. `wait` of our own shell gives the same, so the payload's own
# exit codes above 128 are read as signals too; nothing here depends on telling the two apart.
SIGNAL_BASE = 128
_TAR_OVERHEAD = 1 << 20


def wrapper(out: str) -> str:
    """Shell text that runs "$@", sends its output to the log and then archives `out`."""
    keep = f"rm -rf {out}/{TIMES_FILE}; times > {out}/{TIMES_FILE}; tar -C {out} -cf - ."
    return f'umask 022; "$@" 1>&2; rc=$?; {{ {keep}; }} 2>/dev/null; exit $rc'


@contextmanager
def input_folder(job: Job) -> Iterator[Path]:
    """A folder with the job's byte inputs, readable by any uid; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_inputs(folder, job.inputs)
        yield folder


def write_inputs(folder: Path, inputs: Mapping[str, bytes | Path]) -> None:
    """Write byte inputs into `folder`, readable by any uid; raises ValueError for odd names."""
    for key, value in inputs.items():
        if "/" in key or key.startswith("."):
            raise ValueError(f"input {key!r} is not a plain file name")
        path = folder / key
        # An empty file is the mount point of an input that stays where it is.
        path.write_bytes(value if isinstance(value, bytes) else b"")
        path.chmod(0o644)


def limit_command(limits: Limits, address_space: int | None = None) -> list[str]:
    """prlimit in front of a payload; RLIMIT_NPROC is left to the pid limit for uid 0."""
    command = [
        "prlimit",
        f"--cpu={limits.cpu_s}:{limits.cpu_s + 1}",
        f"--nofile={limits.open_files}",
        f"--fsize={max(limits.out_bytes, limits.tmp_bytes)}",
        "--core=0",
        f"--nproc={limits.processes}",
    ]
    return [*command, *([f"--as={address_space}"] if address_space else []), "--"]


def execute(
    command: Sequence[str],
    limits: Limits,
    env: dict[str, str],
    watch: Callable[[int], str | None],
    pass_fds: Sequence[int] = (),
    kill_group: bool = False,
) -> SandboxResult:
    """Run `command` to its end or to a limit. `watch(pid)` may name an ending at any poll.

    Raises SandboxFault when the command cannot be started.
    """
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
            env=env,
        )
    except OSError as error:
        raise SandboxFault(f"{command[0]} cannot be started: {error}") from error
    assert process.stdout is not None and process.stderr is not None
    with process.stdout, process.stderr:
        log, archive, why = drain(
            Stream(process.stderr.fileno(), limits.log_bytes, "log_limit"),
            Stream(process.stdout.fileno(), limits.out_bytes + _TAR_OVERHEAD, "output_limit"),
            started + limits.wall_s,
            lambda: _exited(process.pid),
            lambda: watch(process.pid),
        )
        if why or kill_group:
            _kill(process.pid, kill_group)
        status, own_cpu_s = _reap(process)
    files, notes = ({}, ()) if why else read_archive(archive, limits.out_bytes)
    if not archive:
        notes = (*notes, NO_ARCHIVE)
    # The init of a pid namespace is not our child's child: its CPU time comes from inside.
    cpu_s = max(own_cpu_s, _payload_cpu(files.pop(TIMES_FILE, b"")))
    ended, exit_code, number = _ending(why, status, cpu_s, limits)
    wall_s = time.monotonic() - started
    return SandboxResult(ended, exit_code, number, log, files, wall_s, cpu_s, notes)


def _exited(pid: int) -> bool:
    """Whether the process has ended, leaving its status (and its CPU time) to be collected."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _reap(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """(exit status or minus the signal, CPU seconds of the process and the children it reaped)."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def _payload_cpu(times: bytes) -> float:
    """CPU seconds of the payload from the shell's `times`: the second line is its children's."""
    found = re.findall(rb"(\d{1,6})m(\d{1,2}\.\d{1,9})s", times)
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in found[2:4])


def _kill(pid: int, group: bool) -> None:
    try:
        os.killpg(pid, signal.SIGKILL) if group else os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _ending(
    why: str | None, status: int, cpu_s: float, limits: Limits
) -> tuple[str, int | None, int | None]:
    if why:
        return why, None, None
    number = -status if status < 0 else status - SIGNAL_BASE if status > SIGNAL_BASE else None
    if number is None:
        return "exited", status, None
    out_of_cpu = number == signal.SIGXCPU or (
        number == signal.SIGKILL and cpu_s >= limits.cpu_s - 0.5
    )
    return ("cpu_limit", None, number) if out_of_cpu else ("signalled", None, number)
