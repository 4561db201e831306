"""Writes what is installed in an image as SPDX 2.3 JSON: Debian packages and Python distributions.

    python3 sbom.py NAME VERSION OUTPUT

Standard library only, because it runs inside images. Equal installations give equal files: the
only time in them is SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

DPKG_STATUS = Path("/var/lib/dpkg/status")
OS_RELEASE = Path("/etc/os-release")
NOTHING = "NOASSERTION"

# Names of licences that say exactly one thing. "BSD License", say, may be one of several.
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}
IDENTIFIERS = frozenset(
    "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 CNRI-Python GPL-2.0-only "
    "GPL-2.0-or-later GPL-3.0-only GPL-3.0-or-later HPND ISC LGPL-2.1-only LGPL-2.1-or-later "
    "LGPL-3.0-only LGPL-3.0-or-later MIT MIT-0 MPL-2.0 NCSA PSF-2.0 Python-2.0 Unicode-3.0 "
    "Unicode-DFS-2016 Unlicense Zlib".split()
)
TEXTS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
}
EXCEPTIONS = frozenset({"LLVM-exception", "GCC-exception-3.1", "Classpath-exception-2.0"})


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """One installed package, with empty fields for what its installation does not tell."""

    kind: str
    name: str
    version: str
    architecture: str = ""
    license: str = ""
    license_at: str = ""
    source: str = ""
    sha256: str = ""


def debian_packages(status: Path = DPKG_STATUS, docs: Path | None = None) -> list[Package]:
    """The packages that dpkg's status file calls installed; none without such a file."""
    docs = docs or Path("/usr/share/doc")
    if not status.is_file():
        return []
    found = []
    for fields in _stanzas(status.read_text(encoding="utf-8", errors="replace")):
        if fields.get("Status", "").split()[-1:] != ["installed"]:
            continue
        name, version = fields["Package"], fields["Version"]
        copyright_file = docs / name / "copyright"
        found.append(
            Package(
                "deb",
                name,
                version,
                architecture=fields.get("Architecture", ""),
                license_at=str(copyright_file) if copyright_file.is_file() else "",
                source=_source(fields.get("Source", name), version),
            )
        )
    return found


def python_packages(path: list[str] | None = None) -> list[Package]:
    """The distributions on this interpreter's path, or on `path`; of equal names the first, which
    is the one that an import finds."""
    found: dict[str, Package] = {}
    for distribution in distributions(path=sys.path if path is None else path):
        name = distribution.metadata["Name"]
        if not name:  # what an interrupted removal leaves behind
            continue
        name = re.sub(r"[-_.]+", "-", name).lower()
        terms = declared_license(cast("Message[str, str]", distribution.metadata))
        package = Package(
            "pypi", name, distribution.version, license=terms, sha256=_archive(distribution)
        )
        found.setdefault(name, package)
    return list(found.values())


def declared_license(metadata: Message[str, str]) -> str:
    """The SPDX expression of a distribution's metadata, or empty where it is not certain."""
    expression = metadata.get("License-Expression") or metadata.get("License") or ""
    if is_expression(expression):
        return str(expression)
    if expression in TEXTS:
        return TEXTS[expression]
    names = [
        value.rpartition(" :: ")[2]
        for value in metadata.get_all("Classifier") or ()
        if value.startswith("License :: ") and value != "License :: OSI Approved"
    ]
    if names and all(name in CLASSIFIERS for name in names):
        identifiers = sorted({CLASSIFIERS[name] for name in names})
        # Several classifiers do not say whether all of them hold or one may be chosen.
        return identifiers[0] if len(identifiers) == 1 else ""
    return ""


def is_expression(text: str) -> bool:
    """Whether `text` is an SPDX expression over the identifiers we know. A wrong expression would
    make the document invalid, an unknown one only less telling."""
    operand = r"\(*\s*(?P<id>[\w.+-]+)(\s+WITH\s+(?P<with>[\w.-]+))?\s*\)*"
    parts = re.split(r"\s+(?:AND|OR)\s+", text.strip())
    for part in parts:
        match = re.fullmatch(operand, part)
        if match is None or match["id"] not in IDENTIFIERS:
            return False
        if match["with"] and match["with"] not in EXCEPTIONS:
            return False
    return text.count("(") == text.count(")")


def document(
    name: str, version: str, packages: Iterable[Package], epoch: int, system: str = "debian"
) -> dict[str, Any]:
    """The SPDX document of an image that holds `packages`."""
    listed = [_entry(package, system) for package in sorted(set(packages))]
    image = {
        "SPDXID": "SPDXRef-Image",
        "name": name,
        "versionInfo": version,
        "primaryPackagePurpose": "CONTAINER",
        **_unknown(),
    }
    links = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Image")]
    links += [("SPDXRef-Image", "CONTAINS", entry["SPDXID"]) for entry in listed]
    content = json.dumps([name, version, epoch, listed], sort_keys=True)
    identity = hashlib.sha256(content.encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{quote(name, '')}-{identity}",
        "creationInfo": {
            "created": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: kernelvault-sbom"],
        },
        "documentDescribes": ["SPDXRef-Image"],
        "packages": [image, *listed],
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in links
        ],
    }


def _entry(package: Package, system: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "SPDXID": _identifier(package),
        "name": package.name,
        "versionInfo": package.version,
        **_unknown(),
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": purl(package, system),
            }
        ],
    }
    if package.license:
        entry["licenseDeclared"] = package.license
    if package.license_at:
        entry["licenseComments"] = f"The licence is told in {package.license_at}."
    if package.source:
        entry["sourceInfo"] = f"built from the Debian source package {package.source}"
    if package.sha256:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": package.sha256}]
    return entry


def _unknown() -> dict[str, Any]:
    """What SPDX wants to have said even where it is not known."""
    return {
        "downloadLocation": NOTHING,
        "filesAnalyzed": False,
        "supplier": NOTHING,
        "licenseConcluded": NOTHING,
        "licenseDeclared": NOTHING,
        "copyrightText": NOTHING,
    }


def purl(package: Package, system: str = "debian") -> str:
    """The package URL: a name by which vulnerability databases know the package."""
    name, version = quote(package.name, ""), quote(package.version, "")
    if package.kind == "deb":
        return f"pkg:deb/{system}/{name}@{version}?arch={package.architecture}"
    return f"pkg:{package.kind}/{name}@{version}"


def _identifier(package: Package) -> str:
    """Unique though SPDX allows only letters, digits, dots and dashes: `+`, say, becomes `.2B`."""
    parts = (package.kind, package.name, package.architecture)
    text = "-".join(part for part in parts if part)
    clean = re.sub(r"[^A-Za-z0-9-]", lambda match: f".{ord(match[0]):02X}", text)
    return f"SPDXRef-Package-{clean}"


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    for block in re.split(r"\n\s*\n", text):
        lines = (line.partition(":") for line in block.splitlines() if line[:1] not in " \t")
        fields = {key: value.strip() for key, _, value in lines}
        if "Package" in fields and "Version" in fields:
            yield fields


def _source(field: str, version: str) -> str:
    """`name version`; the field has a version only where it differs from the binary's."""
    match = re.fullmatch(r"(\S+)(?: \((\S+)\))?", field)
    return f"{match[1]} {match[2] or version}" if match else field


def _archive(distribution: Distribution) -> str:
    """The checksum of the wheel, which pip records for wheels that were named by address."""
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        sha256 = origin["archive_info"]["hashes"]["sha256"]
    except (ValueError, KeyError, TypeError):
        return ""
    return sha256 if isinstance(sha256, str) and re.fullmatch(r"[0-9a-f]{64}", sha256) else ""


def _system(path: Path = OS_RELEASE) -> str:
    match = re.search(r'^ID="?([\w.-]+)', path.read_text(), re.M) if path.is_file() else None
    return match[1] if match else "debian"


def main(argv: list[str] | None = None) -> int:
    """Write the document of the machine this runs on."""
    words = sys.argv[1:] if argv is None else argv
    if len(words) != 3:
        sys.stderr.write("sbom: three arguments are needed: NAME VERSION OUTPUT\n")
        return 2
    name, version, output = words[0], words[1], Path(words[2])
    try:
        epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or 0)
    except ValueError:
        sys.stderr.write(
            "sbom: SOURCE_DATE_EPOCH is not a number\n  next step: set it to seconds\n"
        )
        return 2
    packages = debian_packages() + python_packages()
    if not packages:
        sys.stderr.write("sbom: found neither a Debian package nor a Python distribution\n")
        return 3
    result = document(name, version, packages, epoch, _system())
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
