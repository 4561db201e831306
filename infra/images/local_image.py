"""Makes the CPU sandbox image from nothing: mount points and accounts, no registry, no download.

    python3 -m infra.images.local_image [TAG]

The image has no programs. Whoever starts a container from it mounts the host's /usr, which the
label `org.kernelvault.rootfs=host` says. Exit code: 0 the image is there, 3 no Docker daemon
answered.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from typing import Any

import docker  # type: ignore[import-untyped,unused-ignore]
from docker.errors import (  # type: ignore[import-untyped,unused-ignore]
    DockerException,
    ImageNotFound,
)

TAG = "kernelvault/verify-cpu:local"
LABELS = {"org.kernelvault.sandbox": "1", "org.kernelvault.rootfs": "host"}
PATH = "/usr/local/bin:/usr/bin:/bin"
USER = "10001:10001"
UNAVAILABLE = 3

FOLDERS = ("dev etc etc/alternatives home in opt proc root run sys usr usr/bin usr/lib usr/lib64 "
           "usr/sbin var var/tmp").split()  # fmt: skip
# runc gives a tmpfs the mode of the folder that it covers, and a task is not root.
WRITABLE = ("out", "tmp", "var/tmp")
LINKS = {name: f"usr/{name}" for name in ("bin", "lib", "lib64", "sbin")}
FILES = {
    "etc/group": "root:x:0:\nsandbox:x:10001:\nnogroup:x:65534:\n",
    "etc/ld.so.cache": "",  # a place to mount the host's on
    "etc/passwd": (
        "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        "sandbox:x:10001:10001:sandbox:/tmp:/usr/sbin/nologin\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
}


class NoDocker(Exception):
    """No daemon answered, or it did not take the image; the text names cause and next step."""


def root_filesystem() -> bytes:
    """The image's only layer: a tar archive that is the same wherever and whenever it is made."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted({*FOLDERS, *WRITABLE, *LINKS, *FILES}):
            entry = tarfile.TarInfo(name)
            content = b""
            if name in LINKS:
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, LINKS[name], 0o777
            elif name in FILES:
                content = FILES[name].encode()
                entry.size, entry.mode = len(content), 0o644
            else:
                entry.type = tarfile.DIRTYPE
                entry.mode = 0o1777 if name in WRITABLE else 0o755
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def build_local_image(client: docker.DockerClient, tag: str = TAG) -> str:
    """The id of the image `tag`, which is made unless it is there with the same content already.

    Raises NoDocker when the daemon does not answer or refuses.
    """
    archive = root_filesystem()
    try:
        present = _present(client, tag, archive)
        if present:
            return present
        repository, name = _split(tag)
        changes = [f"LABEL {key}={value}" for key, value in LABELS.items()]
        changes += [f"USER {USER}", f"ENV PATH={PATH}"]
        answer = client.api.import_image_from_data(
            archive, repository=repository, tag=name, changes=changes
        )
        refusal = _refusal(answer)
        if refusal:
            raise NoDocker(f"Docker did not take the image {tag}: {refusal}")
        return str(client.images.get(tag).id)
    except (DockerException, OSError) as error:
        raise NoDocker(
            f"Docker could not make the image {tag}: {error}\n"
            "  next step: start its daemon, or name it with DOCKER_HOST; see `docker info`"
        ) from error


def _present(client: docker.DockerClient, tag: str, archive: bytes) -> str:
    """The id of `tag` when its layer and settings are those that would be made, else empty."""
    try:
        image = client.images.get(tag)
    except ImageNotFound:
        return ""
    layers = image.attrs.get("RootFS", {}).get("Layers")
    config: dict[str, Any] = image.attrs.get("Config") or {}
    same = (
        layers == ["sha256:" + hashlib.sha256(archive).hexdigest()]
        and config.get("Labels") == LABELS
        and config.get("User") == USER
        and config.get("Env") == [f"PATH={PATH}"]
    )
    return str(image.id) if same else ""


def _split(tag: str) -> tuple[str, str]:
    """Repository and tag; a colon before the last slash belongs to a registry's port."""
    head, slash, last = tag.rpartition("/")
    name, _, version = last.partition(":")
    return head + slash + name, version or "local"


def _refusal(answer: str | bytes) -> str:
    """The error in the daemon's stream of JSON lines; it comes with the status 200."""
    text = answer.decode() if isinstance(answer, bytes) else answer
    for line in text.splitlines():
        if line.strip():
            message = json.loads(line)
            if "error" in message:
                return str(message["error"])
    return ""


def main(argv: list[str] | None = None) -> int:
    """Make the image on the daemon that the environment names."""
    words = sys.argv[1:] if argv is None else argv
    try:
        client = docker.from_env()
    except DockerException as error:
        return _fail(
            f"no Docker daemon answered: {error}\n"
            "  next step: start it, or name it with DOCKER_HOST; see `docker info`"
        )
    try:
        tag = words[0] if words else TAG
        sys.stdout.write(f"{tag} {build_local_image(client, tag)}\n")
        return 0
    except NoDocker as error:
        return _fail(str(error))
    finally:
        client.close()


def _fail(text: str) -> int:
    sys.stderr.write(f"image-local: {text}\n")
    return UNAVAILABLE


if __name__ == "__main__":
    sys.exit(main())
