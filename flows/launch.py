"""Entry points of the command line: a Prefect server around the main job, and its pages alone.

Nothing here may import Prefect before the server's address is in the environment.
"""

from __future__ import annotations

from collections.abc import Callable

from kernelvault.agents.context import warm_up
from kernelvault.cli.contract import JobReport, JobRequest, Listener, Progress
from kernelvault.settings import Settings
from tasks.server import PrefectServer


def run_main_job(request: JobRequest, on_progress: Listener) -> JobReport:
    """Run the main job against a real Prefect server, which starts while caches are built."""
    settings = request.settings
    with PrefectServer(settings.corpus / ".prefect") as server:
        on_progress(Progress("warm-up", 0, 2))
        warm_up(settings, request.languages)
        on_progress(Progress("warm-up", 1, 2, "toolchains"))
        server.wait_ready()
        on_progress(Progress("warm-up", 2, 2, "Prefect server"))
        return _run_flow(request, on_progress)


def _run_flow(request: JobRequest, on_progress: Listener) -> JobReport:
    from flows.main_job import main_job
    from tasks.progress import listening
    from tasks.records import flush_records

    try:
        with listening(on_progress):
            return main_job(
                settings=request.settings,
                problems=list(request.problems) if request.problems else None,
                languages=list(request.languages) if request.languages else None,
                limit=request.limit,
                channel="preview" if request.release else None,
            )
    finally:
        flush_records()


def open_ui(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Serve the pages about past runs of this corpus until interrupted."""
    with PrefectServer(settings.corpus / ".prefect") as server:
        server.wait_ready()
        on_ready(server.page)
        server.wait_stopped()
