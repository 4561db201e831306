"""Runs inside a sandbox: writes to /out/facts.json what it sees and what it may do there."""

import contextlib
import json
import os
import pwd
import resource
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

TRIES = {
    "write": lambda: Path("/in/victim").write_text("x"),
    "truncate": lambda: os.truncate("/in/victim", 0),
    "remove": lambda: Path("/in/victim").unlink(),
    "rename": lambda: Path("/in/victim").rename("/in/other"),
    "change modes": lambda: Path("/in/victim").chmod(0o777),
    "change times": lambda: os.utime("/in/victim", (0, 0)),
    "add": lambda: Path("/in/new").write_text("x"),
    "make a folder": lambda: Path("/in/folder").mkdir(),
    "link": lambda: Path("/in/link").symlink_to("/tmp"),
    "own the output folder": lambda: Path("/out").chmod(stat.S_ISVTX | 0o777),
    "open a terminal": lambda: Path("/dev/tty").open("rb").close(),
    "have an account": lambda: pwd.getpwuid(os.getuid()),
    "become root": lambda: os.setuid(0),
    "use a message queue folder": lambda: Path("/dev/mqueue/x").touch(),
}


def possible(name):
    try:
        TRIES[name]()
    except (OSError, KeyError):
        return False
    return True


def writable():
    """The folders outside /proc in which a file can be made. Below /usr a few will do."""
    found = []
    for folder, below, _ in os.walk("/"):
        if folder in ("/proc", "/sys") or (folder.startswith("/usr/") and folder.count("/") > 2):
            below.clear()
        with contextlib.suppress(OSError):
            (Path(folder) / "survey-was-here").touch()
            (Path(folder) / "survey-was-here").unlink()
            found.append(folder)
    return sorted(found)


def runs_from(folder):
    program = Path(folder) / "program"
    shutil.copy("/usr/bin/true", program)
    try:
        return subprocess.run([program], check=False).returncode == 0
    except PermissionError:
        return False
    finally:
        program.unlink()


def descriptors():
    """Those of this process but the one by which it looks."""
    found = []
    for number in range(200):
        with contextlib.suppress(OSError):
            os.fstat(number)
            found.append(number)
    return found


def size(folder):
    found = os.statvfs(folder)
    return found.f_blocks * found.f_frsize


def processes():
    return {
        path.name: (path / "cmdline").read_text().split("\0")
        for path in Path("/proc").iterdir()
        if path.name.isdigit()
    }


LINES = Path("/proc/self/status").read_text().splitlines()
PLACES = ("/tmp", "/out", "/dev/shm")
facts = {
    "descriptors": descriptors(),
    "empty": {place: not list(Path(place).iterdir()) for place in PLACES},
    "env": dict(os.environ),
    "cwd": str(Path.cwd()),
    "ids": [*os.getresuid(), *os.getresgid(), *os.getgroups()],
    "status": {line.partition(":")[0]: line.partition(":")[2].strip() for line in LINES},
    "hostname": socket.gethostname(),
    "interfaces": [
        line.split(":")[0].strip()
        for line in Path("/proc/net/dev").read_text().splitlines()
        if ":" in line
    ],
    "routes": Path("/proc/net/route").read_text().splitlines()[1:],
    "processes": processes(),
    "own": [os.getpid(), os.getppid(), os.getsid(0), os.getpgid(0)],
    "umask": os.umask(0o022),
    "encoding": sys.getfilesystemencoding(),
    "devices": sorted(
        path.name for path in Path("/dev").iterdir() if path.is_char_device() and path.exists()
    ),
    "inputs": {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in Path("/in").iterdir()},
    "sys": Path("/sys").exists(),
    "possible": [name for name in TRIES if possible(name)],
    "victim": Path("/in/victim").read_text(),
    "writable": writable(),
    "runs from": [place for place in PLACES if runs_from(place)],
    "sizes": {place: size(place) for place in PLACES},
    "stdin": sys.stdin.read(),
    "terminal": [os.isatty(number) for number in range(3)],
    "limits": {
        name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
        for name in ("CPU", "NOFILE", "FSIZE", "CORE")
    },
}
Path("/out/facts.json").write_text(json.dumps(facts))
