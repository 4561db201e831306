"""The dataset card of a release."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template

import duckdb

from expectations.channels import Channel
from kernelvault.release.manifest import Manifest


def write_card(folder: Path, release: str, manifest: Manifest, policy: Channel) -> None:
    """Write README.md from the exported samples."""
    package = files("kernelvault.release")
    query = (package / "sql" / "card.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        rows = connection.execute(query, [f"{folder}/data/samples/**/*.parquet"]).fetchall()
    families = [
        f"| {family} | {language} | {tier} | {count} |" for family, language, tier, _, count in rows
    ]
    licences = sorted({licence for _, _, _, licences, _ in rows for licence in licences})
    required = [f"- `{rule.gate}` on `{rule.target}`" for rule in policy.required]
    text = Template((package / "card.md").read_text(encoding="utf-8")).substitute(
        release=release,
        channel=manifest.channel,
        description=policy.description,
        samples=manifest.counts["samples"],
        attempts=manifest.counts["attempts"],
        verifications=manifest.counts["verifications"],
        families="\n".join(families),
        licences=", ".join(licences),
        yaml_licences="\n".join(f"  - {licence.lower()}" for licence in licences),
        required="\n".join(required),
        content=manifest.content_sha256,
    )
    (folder / "README.md").write_text(text, encoding="utf-8")
