"""Builds the images from the committed tree, each on the digest that images.lock gives its base.

    python3 -m infra.images.build [IMAGE ...]

Exit code: 0 built, 1 a build failed, 3 the lock or docker cannot serve.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from infra.images.lock import BASES, LOCK, Entry, LockError, read_lock

ROOT = Path(__file__).parents[2]
FAILED = 1
CANNOT = 3


def bases_of_images(path: Path = BASES) -> dict[str, str]:
    """The name of the base of every image."""
    images: dict[str, dict[str, str]] = tomllib.loads(path.read_text())["images"]
    return {name: entry["base"] for name, entry in images.items()}


def locked(image: str, lock: Path = LOCK, bases: Path = BASES) -> Entry:
    """The locked base of `image`. Raises LockError when it has no digest, or one of another tag."""
    name = bases_of_images(bases)[image]
    entry = read_lock(lock).get(name)
    wanted = tomllib.loads(bases.read_text())["bases"][name]
    if entry is None:
        cause = f"base {name} is not in {lock.name}"
    elif not entry.digest:
        cause = f"base {name} ({entry.image}:{entry.tag}) has no digest: {entry.unresolved}"
    elif (entry.image, entry.tag, entry.platform) != tuple(
        wanted[key] for key in ("image", "tag", "platform")
    ):
        cause = f"{lock.name} is about {entry.image}:{entry.tag}, {bases.name} has another tag"
    else:
        return entry
    raise LockError(
        f"{image} cannot be built: {cause}\n"
        "  next step: run `make images-lock` on a machine that reaches the registry"
    )


def command(image: str, base: Entry, arguments: Mapping[str, str], buildx: bool) -> list[str]:
    """The docker command that builds `image` from a context on its standard input."""
    line = ["docker", "build", "--platform", base.platform]
    line += ["--file", f"infra/images/{image}.Dockerfile"]
    every = {"BASE": base.reference, "BASE_NAME": f"{base.image}:{base.tag}", **arguments}
    every["BASE_DIGEST"] = base.digest
    for key in sorted(every):
        line += ["--build-arg", f"{key}={every[key]}"]
    name = f"kernelvault/{image}:{arguments['VERSION']}"
    if not buildx:
        return [*line, "--tag", name, "-"]
    # File times would differ from build to build, and a provenance record holds the time of day.
    output = f"type=docker,name={name},rewrite-timestamp=true"
    return [*line, "--provenance=false", "--output", output, "-"]


def arguments_of(commit: str, bases: Path = BASES) -> dict[str, str]:
    """The build arguments that are the same for every image."""
    epoch = _git("show", "-s", "--format=%ct", commit)
    project = tomllib.loads(_git("show", f"{commit}:pyproject.toml"))["project"]
    created = datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    fixed: dict[str, str] = tomllib.loads(bases.read_text())["arguments"]
    about = {"VERSION": project["version"], "REVISION": commit, "CREATED": created}
    return {**fixed, **about, "SOURCE_DATE_EPOCH": epoch}


def build(image: str, base: Entry, arguments: Mapping[str, str], buildx: bool) -> int:
    """Build one image from the commit alone: what is not committed is not in an image."""
    line = command(image, base, arguments, buildx)
    archive = ["git", "archive", "--format=tar", arguments["REVISION"]]
    with subprocess.Popen(archive, cwd=ROOT, stdout=subprocess.PIPE) as context:
        code = subprocess.run(line, cwd=ROOT, stdin=context.stdout, check=False).returncode
    return code or context.returncode


def main(argv: Sequence[str] | None = None, lock: Path = LOCK) -> int:
    """Build the named images, by default all; nothing is built when one of them cannot be."""
    names = sorted(bases_of_images())
    parser = argparse.ArgumentParser(prog="infra.images.build", description="Build the images.")
    parser.add_argument("images", nargs="*", metavar="IMAGE", help=f"of {', '.join(names)}")
    chosen = parser.parse_args(argv).images or names
    if unknown := sorted(set(chosen) - set(names)):
        parser.error(f"there is no image {', '.join(unknown)}; there are {', '.join(names)}")
    try:
        plan = {image: locked(image, lock) for image in chosen}
    except LockError as error:
        _say(str(error))
        return CANNOT
    if shutil.which("docker") is None:
        _say("the docker command is not installed\n  next step: install Docker with its buildx")
        return CANNOT
    try:
        arguments = arguments_of(_git("rev-parse", "HEAD"))
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError) as error:
        _say(f"the commit to build from is not known: {error}\n  next step: build in a git clone")
        return CANNOT
    if changed:
        _say("changes that are not committed are not in the images")
    buildx = _has_buildx()
    if not buildx:
        _say("docker has no buildx: equal contents, but file times that differ between builds")
    for image, base in plan.items():
        if build(image, base, arguments, buildx) != 0:
            _say(f"docker could not build {image}\n  next step: its last lines say why")
            return FAILED
    return 0


def _has_buildx() -> bool:
    ask = ["docker", "buildx", "version"]
    return subprocess.run(ask, capture_output=True, check=False).returncode == 0


def _git(*question: str) -> str:
    answer = subprocess.run(
        ["git", *question], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


def _say(line: str) -> None:
    sys.stderr.write(f"images: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
