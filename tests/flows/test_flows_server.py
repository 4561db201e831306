"""The Prefect server that a run starts for itself."""

import json
import urllib.request
from pathlib import Path

import pytest

from tasks.server import PrefectServer

pytestmark = pytest.mark.service


def test_its_pages_ask_the_server_they_came_from(tmp_path: Path) -> None:
    with PrefectServer(tmp_path) as server:
        server.wait_ready()
        with urllib.request.urlopen(f"{server.page}/ui-settings", timeout=10) as answer:
            settings = json.load(answer)
        assert settings["api_url"] == server.url
