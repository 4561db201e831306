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
        f"| {family} | {language} | {agent} | {tier} | {count} |"
        for family, language, agent, tier, _, count in rows
    ]
    licences = sorted({licence for row in rows for licence in row[4]})
    text = Template((package / "card.md").read_text(encoding="utf-8")).substitute(
        release=release,
        channel=manifest.channel,
        presets=", ".join(manifest.presets),
        description=policy.description,
        ran=_ran({str(row[3]) for row in rows}),
        size=_size(manifest.counts["samples"]),
        samples=manifest.counts["samples"],
        candidates=manifest.counts["candidates"],
        attempts=manifest.counts["attempts"],
        verifications=manifest.counts["verifications"],
        families="\n".join(families),
        licences=", ".join(licences),
        yaml_licences="\n".join(f"  - {licence.lower()}" for licence in licences),
        required="\n".join(f"- `{rule.gate}` on `{rule.target}`" for rule in policy.required),
        content=manifest.content_sha256,
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def _ran(tiers: set[str]) -> str:
    if "hardware" in tiers:
        return "Samples of the tier `hardware` ran on an AMD GPU; no other did."
    return "**No kernel of this release has ever run on an AMD GPU.**"


def _size(samples: int) -> str:
    """The size category by which dataset hubs sort."""
    steps = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
    return next((name for bound, name in steps if samples < bound), "100K<n<1M")
