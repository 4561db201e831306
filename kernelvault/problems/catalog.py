"""Where problems come from: the built-in references, or a file of the user's."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from kernelvault.errors import UsageError
from kernelvault.problems.source import ProblemSource
from kernelvault.spec.provenance import Provenance

__all__ = ["MAX_FILE_BYTES", "ProblemSource", "builtin", "find", "from_file"]

MAX_FILE_BYTES = 1 << 20


@cache
def builtin() -> tuple[ProblemSource, ...]:
    """All built-in problems, sorted by name."""
    folder = resources.files("kernelvault.problems") / "builtin"
    found = []
    for entry in folder.iterdir():
        if entry.name.endswith(".py") and not entry.name.startswith("_"):
            path = f"kernelvault/problems/builtin/{entry.name}"
            provenance = Provenance("kernelvault", "", path, "Apache-2.0")
            text = entry.read_text(encoding="utf-8")
            found.append(ProblemSource(entry.name.removesuffix(".py"), text, provenance))
    return tuple(sorted(found, key=lambda source: source.name))


def find(name: str) -> ProblemSource:
    """The built-in problem called `name`; raises UsageError when there is none."""
    for source in builtin():
        if source.name == name:
            return source
    raise UsageError(f"no built-in problem {name!r}", "see `kernelvault problems list`")


def from_file(path: Path) -> ProblemSource:
    """A user's problem file, of unknown licence; raises UsageError when it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            text = f"{path} is larger than {MAX_FILE_BYTES} bytes"
            raise UsageError(text, "give one self-contained problem file")
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}", "save it as UTF-8") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "check the path") from error
    return ProblemSource(path.stem, text, Provenance("", "", path.name, "NOASSERTION"))
