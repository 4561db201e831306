from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import docker
import pytest

from kernelvault.sandbox import Sandbox

sys.path.insert(0, str(Path(__file__).parent))

from backends import NAMES, docker_daemon, opened
from conformance import Box

_HERE = Path(__file__).parent
_EVERYWHERE = "test_sandbox_conformance_runs.py"
_LOCAL_IMAGE = Path(__file__).parents[2] / "infra/images/local_image.py"


def _local_image() -> ModuleType:
    spec = importlib.util.spec_from_file_location("local_image", _LOCAL_IMAGE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def docker_address() -> Iterator[str]:
    """A docker daemon of our own that has the image made from local files."""
    with docker_daemon() as address:
        with closing(docker.DockerClient(base_url=address)) as client:
            _local_image().build_local_image(client)
        yield address


@pytest.fixture(scope="session")
def opened_backends() -> dict[str, Sandbox]:
    return {}


@pytest.fixture(params=NAMES)
def backend(request: pytest.FixtureRequest, opened_backends: dict[str, Sandbox]) -> Sandbox:
    """Each of the isolating sandboxes; `name` is that of the backend."""
    name = request.param
    if name not in opened_backends:
        address = request.getfixturevalue("docker_address") if name == "docker" else None
        opened_backends[name] = opened(name, address)
    return opened_backends[name]


@pytest.fixture
def box(backend: Sandbox, request: pytest.FixtureRequest) -> Box:
    return Box(backend, request.node.callspec.params["backend"])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long runs with the slow tests.

    On docker, which starts half a second later for each new kind of sandbox, only the conformance
    of plain runs is left to every change; and of attacks not the proof that they would succeed.
    """
    for item in items:
        if not item.path.is_relative_to(_HERE) or item.path.name == _EVERYWHERE:
            continue
        if "[docker" in item.name or "succeeds_where_nothing_stops" in item.name:
            item.add_marker(pytest.mark.slow)
