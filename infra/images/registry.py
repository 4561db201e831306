"""Asks a container registry which digest a tag has now (OCI distribution API, anonymous)."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import time
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
LARGEST = 4 << 20  # what the API lets a registry refuse, so no honest manifest is larger
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


class Unreachable(Exception):
    """The registry gave no answer to the question; asking again later may."""


class Refused(Exception):
    """The registry answered, and the answer is a no or cannot be trusted."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """digest: of what the tag names; manifest: of the image for the platform, the same for a tag
    that names no index."""

    digest: str
    manifest: str


class _NoDowngrade(HTTPRedirectHandler):
    def redirect_request(self, req: Request, fp: Any, *rest: Any) -> Request | None:
        following = super().redirect_request(req, fp, *rest)
        if following is not None:
            _check_scheme(following.full_url)
        return following


@dataclass
class Registry:
    """One repository of one registry; `timeout` bounds each request as a whole, in seconds."""

    host: str
    repository: str
    timeout: float = 20.0
    token: str = ""

    @classmethod
    def of(cls, image: str, timeout: float = 20.0) -> Registry:
        """The place of an image's full name; Docker Hub answers under another host."""
        host, _, repository = image.partition("/")
        if not repository:
            raise Refused(f"{image!r} does not name a registry: write docker.io/library/{image}")
        host = "registry-1.docker.io" if host == "docker.io" else host
        return cls(host, repository, timeout)

    def resolve(self, tag: str, platform: str) -> Resolved:
        """The digest of `tag`, recomputed from the bytes, and of its image for `platform`.

        Raises Unreachable or Refused, whose texts say why.
        """
        body, digest = self._manifest(tag)
        document = _document(body)
        kind = document.get("mediaType", "")
        if kind in INDEXES or "manifests" in document:
            chosen = _choose(document, platform)
            self._manifest(chosen)
            return Resolved(digest, chosen)
        if kind in MANIFESTS or "config" in document:
            return Resolved(digest, digest)
        raise Refused(f"{tag} is of an unknown kind: {kind or 'no mediaType'}")

    def _manifest(self, reference: str) -> tuple[bytes, str]:
        """(bytes, their digest) of a manifest; both digests that were claimed must be theirs."""
        path = f"/v2/{self.repository}/manifests/{reference}"
        body, claimed = self._ask(path)
        digest = "sha256:" + hashlib.sha256(body).hexdigest()
        asked = reference if DIGEST.fullmatch(reference) else ""
        for what, other in (("Docker-Content-Digest", claimed), ("the index", asked)):
            if other and other != digest:
                raise Refused(f"{what} says {other} for {reference}, its content has {digest}")
        return body, digest

    def _ask(self, path: str) -> tuple[bytes, str]:
        url = f"{_scheme(self.host)}://{self.host}{path}"
        try:
            return self._get(url)
        except HTTPError as error:
            challenge = error.headers.get("WWW-Authenticate", "")
            if error.code != 401 or self.token or not challenge:
                raise _explained(error) from error
        self.token = self._fetch_token(challenge)
        try:
            return self._get(url)
        except HTTPError as error:
            raise _explained(error) from error

    def _fetch_token(self, challenge: str) -> str:
        fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        if not challenge.lower().startswith("bearer ") or "realm" not in fields:
            raise Refused(f"asks for credentials of a kind that is not supported: {challenge}")
        _check_scheme(fields["realm"])
        scope = fields.get("scope", f"repository:{self.repository}:pull")
        query = urlencode({"service": fields.get("service", ""), "scope": scope})
        try:
            body, _ = self._get(f"{fields['realm']}?{query}")
        except HTTPError as error:
            raise _explained(error) from error
        answer = _document(body)
        token = answer.get("token") or answer.get("access_token")
        if not isinstance(token, str):
            raise Refused("the token service gave no token")
        return token

    def _get(self, url: str) -> tuple[bytes, str]:
        """(body, claimed digest). HTTPError passes; every other failure is Unreachable."""
        request = Request(url, headers={"Accept": ", ".join((*INDEXES, *MANIFESTS))})
        if self.token:
            # Not to be repeated to the host that a redirection names.
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        deadline = time.monotonic() + self.timeout
        try:
            with build_opener(_NoDowngrade).open(request, timeout=self.timeout) as answer:
                body = _read(answer, deadline)
                return body, answer.headers.get("Docker-Content-Digest", "")
        except HTTPError:
            raise
        except (URLError, OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise Unreachable(f"{urlsplit(url).netloc}: {reason}") from error


def _read(answer: Any, deadline: float) -> bytes:
    """The whole body; the socket's own timeout would let a slow sender go on for ever."""
    body = bytearray()
    while piece := answer.read1(1 << 16):
        body += piece
        if len(body) > LARGEST:
            raise Refused(f"the answer is larger than {LARGEST >> 20} MiB")
        if time.monotonic() > deadline:
            raise TimeoutError("timed out")
    return bytes(body)


def _explained(error: HTTPError) -> Exception:
    text = f"{urlsplit(error.url).netloc} answered {error.code} {error.reason}"
    if error.code == 429 or error.code >= 500:
        return Unreachable(text)
    if error.code == 404:
        return Refused(f"{text}: there is no such repository or tag")
    return Refused(text)


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError as error:
        raise Refused("the answer is not JSON") from error
    if not isinstance(document, dict):
        raise Refused("the answer is not a JSON object")
    return document


def _choose(index: dict[str, Any], platform: str) -> str:
    """The digest that a multi-platform index gives for `platform`."""
    for entry in index.get("manifests") or ():
        if not isinstance(entry, dict):
            continue
        found = entry.get("platform") or {}
        digest = str(entry.get("digest"))
        if f"{found.get('os')}/{found.get('architecture')}" == platform:
            if DIGEST.fullmatch(digest):
                return digest
            raise Refused(f"the index names {digest!r} for {platform}, which is no SHA-256 digest")
    raise Refused(f"the index has no image for {platform}")


def _scheme(host: str) -> str:
    return "http" if host.rsplit(":", 1)[0] in LOOPBACK else "https"


def _check_scheme(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise Refused(f"was sent on to {url}, which is not HTTPS")
