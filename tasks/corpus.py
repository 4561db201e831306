"""Tasks around the corpus and its releases: commit what was spooled, cut a release."""

from __future__ import annotations

from prefect import task

from kernelvault import release
from kernelvault.cli.contract import ReleaseOutcome
from kernelvault.settings import Settings
from kernelvault.store import Corpus
from tasks.policy import CACHE, RETRIES, RETRY_DELAY_S, worth_retrying


@task(
    name="commit",
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAY_S,
    retry_condition_fn=worth_retrying,
    cache_policy=CACHE,
)
def commit(settings: Settings) -> bool:
    """Move everything spooled into the corpus tables; returns whether any row was new.

    Doing it twice changes nothing.
    """
    return Corpus(settings.corpus).commit().changed


@task(
    name="release",
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAY_S,
    retry_condition_fn=worth_retrying,
    cache_policy=CACHE,
)
def cut_release(settings: Settings, channel: str) -> ReleaseOutcome | None:
    """Run the release checkpoint and cut a release; an equal existing one is returned unchanged.

    None when the corpus holds no sample of the channel yet: that is no fault. Raises CorpusInvalid
    when the checkpoint fails.
    """
    with Corpus(settings.corpus).connection(channel) as connection:
        if not connection.table("samples").limit(1).fetchall():
            return None
    made = release.create(settings, channel)
    return ReleaseOutcome(made.path, made.unchanged)
