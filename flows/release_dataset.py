"""Flow: check the corpus and cut a release of it."""

from __future__ import annotations

from prefect import flow

from kernelvault.settings import Settings, resolve
from tasks.corpus import commit, cut_release


@flow(name="release-dataset", validate_parameters=True)
def release_dataset(settings: Settings | None = None, channel: str = "preview") -> str | None:
    """Commit what is spooled, run the release checkpoint, cut a release.

    Returns its folder, or None when the corpus holds no sample yet.

    Args:
        settings: where and how to work; by default from the environment and kernelvault.toml.
        channel: the policy of the release.
    """
    chosen = settings or resolve()
    commit(chosen)
    made = cut_release(chosen, channel)
    return str(made.path) if made else None
