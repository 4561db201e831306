"""The images: what their Dockerfiles promise, the lock, the bill of materials, the local image."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import docker  # type: ignore[import-untyped,unused-ignore]
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # infra is no installed package, and this folder has its name
from infra.images import build, health, local_image, lock, sbom  # noqa: E402
from infra.images.registry import Refused, Registry, Resolved, Unreachable  # noqa: E402

IMAGES = ROOT / "infra" / "images"
DOCKERFILES = sorted(IMAGES.glob("*.Dockerfile"))
VERIFY = ("verify-cpu", "verify-rocm")


def image_of(dockerfile: Path) -> str:
    return dockerfile.name.removesuffix(".Dockerfile")


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """(instruction, rest), with continued lines joined and comments left out."""
    lines = [line for line in dockerfile.read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    pairs = (line.partition(" ") for line in joined.splitlines() if line.strip())
    return [(word, rest.strip()) for word, _, rest in pairs if not word.isspace()]


def values(dockerfile: Path, instruction: str) -> list[str]:
    return [rest for word, rest in instructions(dockerfile) if word == instruction]


# Dockerfiles


def test_there_is_a_dockerfile_for_every_image() -> None:
    assert [image_of(path) for path in DOCKERFILES] == sorted(build.bases_of_images())


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=image_of)
def test_an_image_stands_on_the_locked_base_only(dockerfile: Path) -> None:
    stages: set[str] = set()
    for source in values(dockerfile, "FROM"):
        name, _, stage = source.partition(" AS ")
        assert name == "${BASE}" or name in stages
        stages.add(stage)
    assert values(dockerfile, "ARG")[0] == "BASE", "a default would be a base without a digest"
    assert "latest" not in dockerfile.read_text()


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=image_of)
def test_an_image_is_not_root_and_says_whether_it_works(dockerfile: Path) -> None:
    assert values(dockerfile, "USER")[-1] == "10001:10001"
    (check,) = values(dockerfile, "HEALTHCHECK")
    assert check.endswith(f'"/usr/share/kernelvault/health.py", "{image_of(dockerfile)}"]')
    assert image_of(dockerfile) in health.CHECKS


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=image_of)
def test_the_last_step_of_an_image_lists_its_contents(dockerfile: Path) -> None:
    last = values(dockerfile, "RUN")[-1]
    assert re.search(
        rf"sbom\.py {image_of(dockerfile)} .*/usr/share/kernelvault/sbom.spdx.json$", last
    )
    after = instructions(dockerfile)[instructions(dockerfile).index(("RUN", last)) + 1 :]
    assert {word for word, _ in after} <= {"USER", "WORKDIR", "HEALTHCHECK", "CMD"}
    assert "SOURCE_DATE_EPOCH" in values(dockerfile, "ARG")


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=image_of)
def test_compiled_python_holds_no_time(dockerfile: Path) -> None:
    """The variable PIP_NO_COMPILE=1 means the opposite of the option, so the option is used."""
    text = " ".join(rest for word, rest in instructions(dockerfile) if word in ("RUN", "ENV"))
    assert "PIP_NO_COMPILE" not in text
    assert "compileall -f -qq --invalidation-mode unchecked-hash" in re.sub(r"\s+", " ", text)
    final = re.findall(r"pip install -q (?!-c pins)(\S+)", text)
    assert final
    assert set(final) == {"--no-compile"}


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=image_of)
def test_labels(dockerfile: Path) -> None:
    labels = dict(re.findall(r'([\w.]+)="([^"]*)"', " ".join(values(dockerfile, "LABEL"))))
    standard = "title description licenses version revision created base.name base.digest".split()
    assert {f"org.opencontainers.image.{name}" for name in standard} <= set(labels)
    own = {key: value for key, value in labels.items() if key.startswith("org.kernelvault.")}
    sandbox = {"org.kernelvault.sandbox": "1", "org.kernelvault.rootfs": "own"}
    assert own == (sandbox if image_of(dockerfile) in VERIFY else {})


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=image_of)
def test_every_build_argument_is_given(dockerfile: Path) -> None:
    entry = lock.Entry("docker.io/a/b", "1", "linux/amd64", "sha256:" + "0" * 64)
    line = build.command(image_of(dockerfile), entry, build.arguments_of("HEAD"), buildx=True)
    given = {word.partition("=")[0] for word in line if re.match(r"[A-Z_]+=", word)}
    asked = set(values(dockerfile, "ARG"))
    assert asked <= given
    assert f"BASE=docker.io/a/b@{entry.digest}" in line


@pytest.mark.parametrize("name", ["verify-cpu", "worker"])
def test_system_packages_are_those_of_the_installation(name: str) -> None:
    script = (ROOT / "infra" / "install.sh").read_text()
    wanted = set(re.search(r"^packages=\((.*)\)$", script, re.M)[1].split())  # type: ignore[index]
    text = values(IMAGES / f"{name}.Dockerfile", "RUN")[0]
    found = set(re.search(r"recommends\s+([^;]*);", text)[1].split())  # type: ignore[index]
    outside = {"docker.io"}  # a container has no daemon of its own
    if name == "verify-cpu":
        outside |= {"bubblewrap", "libseccomp2"}  # it is a sandbox, and makes none
    assert wanted - found <= outside


@pytest.mark.parametrize("name", VERIFY)
def test_a_verify_image_installs_what_the_core_needs(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = [re.split(r"[>=<]", need)[0] for need in project["optional-dependencies"]["core"]]
    steps = " ".join(values(IMAGES / f"{name}.Dockerfile", "RUN"))
    assert " ".join(core) in steps
    assert not re.search(r"\b(prefect|ray|duckdb|deltalake)\b", steps)


def test_pins_agree_with_the_constraints_and_cover_the_dependencies() -> None:
    def read(path: Path) -> dict[str, str]:
        return dict(re.findall(r"^([\w.-]+)==(\S+)$", path.read_text(), re.M))

    pins, constraints = read(IMAGES / "pins.txt"), read(ROOT / "constraints.txt")
    shared = pins.keys() & constraints.keys()
    assert {name: pins[name] for name in shared} == {name: constraints[name] for name in shared}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = project["dependencies"] + project["optional-dependencies"]["core"]
    names = {re.split(r"[\[>=<]", need)[0] for need in needs} - {"kernelvault"}
    assert names <= pins.keys()


# The bill of materials

STATUS = """\
Package: libstdc++6
Status: install ok installed
Architecture: amd64
Source: gcc-12 (12.2.0-14)
Version: 12.2.0-14+deb12u1
Description: the library
 Package: not a field

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: tzdata
Status: install ok installed
Architecture: all
Version: 2026a-0
"""


def distribution(folder: Path, name: str, metadata: str, direct_url: str = "") -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{metadata}")
    if direct_url:
        (info / "direct_url.json").write_text(direct_url)


def packages_of(tmp_path: Path) -> list[sbom.Package]:
    (tmp_path / "doc" / "tzdata").mkdir(parents=True)
    (tmp_path / "doc" / "tzdata" / "copyright").touch()
    (tmp_path / "status").write_text(STATUS)
    site = tmp_path / "site"
    distribution(site, "Known_One", "License-Expression: MIT OR Apache-2.0\n")
    distribution(site, "by.class", "Classifier: License :: OSI Approved :: MIT License\n")
    distribution(
        site, "vague", "License: BSD\nClassifier: License :: OSI Approved :: BSD License\n"
    )
    direct = json.dumps({"url": "x", "archive_info": {"hashes": {"sha256": "a" * 64}}})
    distribution(site, "hashed", "", direct)
    found = sbom.debian_packages(tmp_path / "status", tmp_path / "doc")
    return found + sbom.python_packages([str(site)])


def test_the_bill_names_versions_licences_and_what_is_unknown(tmp_path: Path) -> None:
    result = sbom.document("image", "1", packages_of(tmp_path), 0)
    entries = {entry["name"]: entry for entry in result["packages"]}
    assert set(entries) == {
        "image",
        "libstdc++6",
        "tzdata",
        "known-one",
        "by-class",
        "vague",
        "hashed",
    }
    assert entries["known-one"]["licenseDeclared"] == "MIT OR Apache-2.0"
    assert entries["by-class"]["licenseDeclared"] == "MIT"
    assert entries["vague"]["licenseDeclared"] == "NOASSERTION"
    assert entries["hashed"]["checksums"] == [{"algorithm": "SHA256", "checksumValue": "a" * 64}]
    assert [name for name, entry in entries.items() if "checksums" in entry] == ["hashed"]
    assert entries["libstdc++6"]["sourceInfo"].endswith("gcc-12 12.2.0-14")
    reference = entries["libstdc++6"]["externalRefs"][0]["referenceLocator"]
    assert reference == "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64"
    assert str(tmp_path / "doc" / "tzdata" / "copyright") in entries["tzdata"]["licenseComments"]
    assert result["creationInfo"]["created"] == "1970-01-01T00:00:00Z"


def test_the_bill_is_sorted_and_depends_on_its_contents_alone(tmp_path: Path) -> None:
    packages = packages_of(tmp_path)
    once = sbom.document("image", "1", packages, 5)
    assert once == sbom.document("image", "1", [*reversed(packages), packages[0]], 5)
    other = sbom.document("image", "1", packages[1:], 5)
    assert other["documentNamespace"] != once["documentNamespace"]


def check_spdx(document: dict[str, Any]) -> None:
    """The rules of SPDX 2.3 that a document of this kind can break."""
    assert (document["spdxVersion"], document["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    names = [entry["SPDXID"] for entry in document["packages"]]
    assert len(names) == len(set(names))
    for entry in document["packages"]:
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", entry["SPDXID"])
        assert entry["filesAnalyzed"] is False
        assert entry["name"] and entry["versionInfo"] and entry["downloadLocation"]
        for key in ("licenseConcluded", "licenseDeclared", "copyrightText", "supplier"):
            assert entry[key]
    known = {"SPDXRef-DOCUMENT", *names}
    for link in document["relationships"]:
        assert {link["spdxElementId"], link["relatedSpdxElement"]} <= known
    contained = {link["relatedSpdxElement"] for link in document["relationships"]}
    assert contained == set(names)


def test_the_bill_of_this_machine(tmp_path: Path) -> None:
    outputs = [tmp_path / "a.json", tmp_path / "b.json"]
    for output in outputs:
        subprocess.run(
            [sys.executable, IMAGES / "sbom.py", "here", "1", output],
            env={"SOURCE_DATE_EPOCH": "1764000000", "PATH": os.environ["PATH"]},
            check=True,
        )
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    document = json.loads(outputs[0].read_text())
    check_spdx(document)
    found = {entry["name"]: entry["versionInfo"] for entry in document["packages"]}
    assert found["pyarrow"] == version("pyarrow")
    assert document["creationInfo"]["created"] == "2025-11-24T16:00:00Z"


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("MIT", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("LicenseRef-Own", False),  # would have to be explained in the document
        ("BSD", False),
        ("MIT License", False),
        ("(MIT", False),
        ("", False),
    ],
)
def test_licence_expressions(text: str, good: bool) -> None:
    assert sbom.is_expression(text) is good


# The lock


def digest(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


def manifest() -> bytes:
    kind = "application/vnd.oci.image.manifest.v1+json"
    return json.dumps({"schemaVersion": 2, "mediaType": kind, "config": {}, "layers": []}).encode()


def index(*entries: tuple[str, str]) -> bytes:
    listed = [
        {"digest": name, "platform": {"os": "linux", "architecture": machine}}
        for machine, name in entries
    ]
    kind = "application/vnd.oci.image.index.v1+json"
    return json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": listed}).encode()


@dataclass
class Hub:
    """A registry on loopback: bodies by reference, and the ways in which it may misbehave."""

    bodies: dict[str, bytes]
    claimed: dict[str, str] = field(default_factory=dict)
    needs_token: bool = True
    status: int = 0
    delay: float = 0.0
    drip: float = 0.0
    realm: str = ""
    seen: list[str] = field(default_factory=list)
    host: str = ""

    @property
    def registry(self) -> Registry:
        return Registry.of(f"{self.host}/library/base", timeout=2.0)


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        hub = self.hub
        hub.seen.append(self.path)
        if self.path.startswith("/token"):
            return self.answer(200, b'{"token": "let-me-in"}')
        if hub.delay:
            time.sleep(hub.delay)
        if hub.needs_token and self.headers.get("Authorization") != "Bearer let-me-in":
            realm = hub.realm or f"http://{hub.host}/token"
            scope = "repository:library/base:pull"
            challenge = f'Bearer realm="{realm}",service="hub",scope="{scope}"'
            return self.answer(401, b"{}", {"WWW-Authenticate": challenge})
        if hub.status:
            return self.answer(hub.status, b"{}")
        reference = self.path.removeprefix("/v2/library/base/manifests/")
        body = hub.bodies.get(reference)
        if body is None:
            return self.answer(404, b"{}")
        claim = hub.claimed.get(reference, digest(body))
        return self.answer(200, body, {"Docker-Content-Digest": claim} if claim else {})

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if not self.hub.drip:
            self.wfile.write(body)
            return
        with suppress(ConnectionError):
            for byte in body:
                time.sleep(self.hub.drip)
                self.wfile.write(bytes([byte]))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the test's own output is enough."""


IMAGE = manifest()
INDEX = index(("arm64", "sha256:" + "1" * 64), ("amd64", digest(IMAGE)))


@pytest.fixture
def hub() -> Iterator[Hub]:
    it = Hub({"slim": INDEX, "single": IMAGE, digest(IMAGE): IMAGE})
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": it}))
    it.host = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield it
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_tag_of_many_platforms_has_the_digest_of_its_index(hub: Hub) -> None:
    found = hub.registry.resolve("slim", "linux/amd64")
    assert found == Resolved(digest(INDEX), digest(IMAGE))
    assert "/token?service=hub&scope=repository%3Alibrary%2Fbase%3Apull" in hub.seen


def test_a_tag_of_one_image_and_no_claimed_digest(hub: Hub) -> None:
    hub.needs_token = False
    hub.claimed["single"] = ""
    found = hub.registry.resolve("single", "linux/amd64")
    assert found == Resolved(digest(IMAGE), digest(IMAGE))


def test_a_wrong_digest_is_refused(hub: Hub) -> None:
    hub.claimed["slim"] = "sha256:" + "2" * 64
    with pytest.raises(Refused, match="Docker-Content-Digest says sha256:2222"):
        hub.registry.resolve("slim", "linux/amd64")


def test_an_index_whose_image_has_other_bytes_is_refused(hub: Hub) -> None:
    hub.bodies[digest(IMAGE)] = IMAGE + b" "
    hub.claimed[digest(IMAGE)] = ""
    with pytest.raises(Refused, match="the index says"):
        hub.registry.resolve("slim", "linux/amd64")


@pytest.mark.parametrize(
    ("tag", "platform", "text"),
    [
        ("missing", "linux/amd64", "404 .*no such repository or tag"),
        ("slim", "linux/riscv64", "has no image for linux/riscv64"),
        ("page", "linux/amd64", "not JSON"),
        ("list", "linux/amd64", "not a JSON object"),
        ("other", "linux/amd64", "unknown kind"),
    ],
)
def test_what_is_no_answer_to_the_question(hub: Hub, tag: str, platform: str, text: str) -> None:
    hub.bodies |= {"page": b"<html>", "list": b"[]", "other": b"{}"}
    with pytest.raises(Refused, match=text):
        hub.registry.resolve(tag, platform)


def test_a_token_service_without_encryption_is_refused(hub: Hub) -> None:
    hub.realm = "http://registry.example/token"
    with pytest.raises(Refused, match="not HTTPS"):
        hub.registry.resolve("slim", "linux/amd64")


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_registry_was_not_reached(hub: Hub, status: int) -> None:
    hub.status = status
    with pytest.raises(Unreachable, match=str(status)):
        hub.registry.resolve("slim", "linux/amd64")


@pytest.mark.parametrize("fault", [{"delay": 0.6}, {"drip": 0.05}], ids=str)
def test_a_slow_registry_was_not_reached(hub: Hub, fault: dict[str, float]) -> None:
    hub.needs_token = False
    vars(hub).update(fault)
    registry = Registry.of(f"{hub.host}/library/base", timeout=0.2)
    with pytest.raises(Unreachable, match="timed out"):
        registry.resolve("slim", "linux/amd64")


BASES = {"slim": lock.Base("docker.io/library/debian", "slim", "linux/amd64")}
KNOWN = lock.Entry(
    *("docker.io/library/debian", "slim", "linux/amd64"), digest(INDEX), digest(IMAGE)
)


def failing(error: Exception) -> lock.Resolve:
    def resolve(base: lock.Base) -> Resolved:
        raise error

    return resolve


def test_a_known_digest_outlives_an_unreachable_registry_and_this_is_said() -> None:
    said: list[str] = []
    offline = failing(Unreachable("no route"))
    entries = lock.update(BASES, {"slim": KNOWN}, said.append, offline)
    assert entries == {"slim": KNOWN}
    assert "no route; keeps sha256:" in said[0]


def test_a_digest_of_another_tag_or_of_a_registry_that_says_no_is_not_kept() -> None:
    said: list[str] = []
    moved = {"slim": lock.Base("docker.io/library/debian", "other", "linux/amd64")}
    entry = lock.update(moved, {"slim": KNOWN}, said.append, failing(Unreachable("no route")))[
        "slim"
    ]
    assert (entry.digest, entry.unresolved) == ("", "registry not reached: no route")
    entry = lock.update(BASES, {"slim": KNOWN}, said.append, failing(Refused("404")))["slim"]
    assert (entry.digest, entry.unresolved) == ("", "registry refused: 404")


def test_the_lock_is_written_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "images.lock"
    open_one = lock.Entry("docker.io/a/b", "1", "linux/amd64", unresolved="why")
    lock.write_lock({"z": KNOWN, "a": open_one}, path)
    assert lock.read_lock(path) == {"a": open_one, "z": KNOWN}
    assert list(json.loads(path.read_text())["bases"]) == ["a", "z"]


SHORT = {"image": "a", "tag": "b", "platform": "c", "digest": "sha256:short"}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"bases": {"a": {"tag": "1"}}}', json.dumps({"bases": {"a": SHORT}})]
)
def test_a_broken_lock_is_an_error_with_a_next_step(tmp_path: Path, text: str) -> None:
    path = tmp_path / "images.lock"
    path.write_text(text)
    with pytest.raises(lock.LockError, match="make images-lock"):
        lock.read_lock(path)


def test_the_committed_lock_is_about_the_bases_and_invents_nothing() -> None:
    entries = lock.read_lock()
    for name, base in lock.read_bases().items():
        entry = entries[name]
        assert (entry.image, entry.tag, entry.platform) == (base.image, base.tag, base.platform)
        assert bool(entry.digest) != bool(entry.unresolved)


# The build


def unresolved(tmp_path: Path) -> Path:
    path = tmp_path / "images.lock"
    entries = {
        name: lock.Entry(base.image, base.tag, base.platform, unresolved="no route")
        for name, base in lock.read_bases().items()
    }
    lock.write_lock(entries, path)
    return path


def test_nothing_is_built_on_a_base_without_a_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build.main([], unresolved(tmp_path)) == 3
    said = capsys.readouterr().err
    assert "has no digest: no route" in said
    assert "next step: run `make images-lock`" in said


def test_a_lock_of_another_tag_or_without_the_base_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "images.lock"
    with pytest.raises(lock.LockError, match=r"is not in images\.lock"):
        build.locked("worker", path)
    old = lock.Entry("docker.io/library/debian", "buster", "linux/amd64", digest(INDEX))
    lock.write_lock({"debian-slim": old}, path)
    with pytest.raises(lock.LockError, match="has another tag"):
        build.locked("worker", path)


def test_arguments_come_from_the_commit() -> None:
    arguments = build.arguments_of(build._git("rev-parse", "HEAD"))
    assert arguments["SOURCE_DATE_EPOCH"].isdigit()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", arguments["CREATED"])
    assert re.fullmatch(r"[0-9a-f]{40}", arguments["REVISION"])


DOCKER = """#!/bin/sh
echo "$@" >> {log}
[ "$1" = buildx ] && exit {buildx}
tar -t > {context}
exit {build}
"""


def fake_docker(folder: Path, monkeypatch: pytest.MonkeyPatch, buildx: int, build: int) -> Path:
    """A docker command that takes a context and answers as told; the folder of what it saw."""
    script = folder / "docker"
    seen = {"log": folder / "log", "context": folder / "context"}
    script.write_text(DOCKER.format(**seen, buildx=buildx, build=build))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def resolved(folder: Path) -> Path:
    bases = lock.read_bases().items()
    entries = {n: lock.Entry(b.image, b.tag, b.platform, digest(INDEX)) for n, b in bases}
    lock.write_lock(entries, folder / "images.lock")
    return folder / "images.lock"


def test_docker_gets_the_commit_and_the_locked_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = fake_docker(tmp_path, monkeypatch, buildx=0, build=0)
    assert build.main(["worker"], resolved(tmp_path)) == 0
    line = (seen / "log").read_text().splitlines()[-1]
    assert f"BASE=docker.io/library/debian@{digest(INDEX)}" in line
    assert "rewrite-timestamp=true" in line
    context = set((seen / "context").read_text().split())
    assert {"pyproject.toml", "infra/images/worker.Dockerfile", "flows/launch.py"} <= context
    assert not any(name.startswith((".venv", ".git/")) for name in context)


def test_a_failed_build_ends_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = fake_docker(tmp_path, monkeypatch, buildx=1, build=5)
    assert build.main([], resolved(tmp_path)) == 1
    assert len((seen / "log").read_text().splitlines()) == 2
    said = capsys.readouterr().err
    assert "no buildx" in said
    assert "could not build verify-cpu" in said


# The local image


def test_the_root_filesystem_is_the_same_each_time() -> None:
    assert local_image.root_filesystem() == local_image.root_filesystem()


def test_no_daemon_is_an_error_with_a_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert local_image.main([]) == 3
    said = capsys.readouterr().err
    assert "no Docker daemon answered" in said
    assert "next step:" in said


def test_tags_are_split_behind_the_host() -> None:
    assert local_image._split("host:5000/a/b") == ("host:5000/a/b", "local")
    assert local_image._split("a/b:1") == ("a/b", "1")


def start_docker(folder: Path) -> subprocess.Popen[bytes]:
    """A daemon that touches neither the machine's network nor its other containers."""
    line = ["dockerd", "--host", f"unix://{folder}/d.sock", "--data-root", f"{folder}/data"]
    line += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid", "--bridge=none"]
    line += ["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
    line += ["--exec-opt", "native.cgroupdriver=cgroupfs"]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(line, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def connect(folder: Path, daemon: subprocess.Popen[bytes]) -> docker.DockerClient:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and daemon.poll() is None:
        try:
            return docker.DockerClient(base_url=f"unix://{folder}/d.sock", timeout=30)
        except docker.errors.DockerException:
            time.sleep(0.1)
    pytest.skip(f"dockerd does not start here: {(folder / 'log').read_text()[-400:]}")


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        pytest.skip("a private Docker daemon needs dockerd and root")
    # Not pytest's folder: the path of a socket may have 107 characters only.
    folder = Path(tempfile.mkdtemp(prefix="kvd", dir="/tmp"))
    daemon = start_docker(folder)
    try:
        client = connect(folder, daemon)
        yield client
        client.close()
    finally:
        daemon.terminate()
        try:
            daemon.wait(15)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.service
def test_the_local_image_is_the_same_each_time(client: docker.DockerClient) -> None:
    once = local_image.build_local_image(client, "kv/one:local")
    assert local_image.build_local_image(client, "kv/one:local") == once
    twice = local_image.build_local_image(client, "kv/two:local")
    layers = [client.images.get(name).attrs["RootFS"]["Layers"] for name in (once, twice)]
    assert layers[0] == layers[1] == [digest(local_image.root_filesystem())]
    image = client.images.get(once)
    assert image.labels == {"org.kernelvault.sandbox": "1", "org.kernelvault.rootfs": "host"}
    assert image.attrs["Config"]["User"] == "10001:10001"


@pytest.mark.service
def test_the_local_image_runs_python_of_the_host_as_nobody_in_particular(
    client: docker.DockerClient,
) -> None:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("this machine has no /usr/bin/python3 to run")
    code = (
        "import os, pwd; open('/tmp/a', 'w').close(); open('/out/b', 'w').close(); "
        "print(os.getuid(), pwd.getpwuid(os.getuid()).pw_name, os.access('/etc', os.W_OK))"
    )
    output = client.containers.run(
        local_image.build_local_image(client),
        ["/usr/bin/python3", "-I", "-S", "-B", "-c", code],
        remove=True,
        user="10001:10001",
        read_only=True,
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        # Without a mode of its own, to see that the image's folders give it.
        tmpfs={"/tmp": "size=1m", "/out": "size=1m"},
        volumes=["/usr:/usr:ro", "/etc/ld.so.cache:/etc/ld.so.cache:ro"],
    )
    assert output == b"10001 sandbox False\n"
