"""Ray fan-out: every unit gets exactly one outcome, whatever dies on the way."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kernelvault.errors import (
    InfrastructureError,
    OrchestrationFault,
    SandboxFault,
    ToolchainMissing,
)
from kernelvault.settings import Settings
from tasks.cluster import RayCluster, map_units

pytestmark = pytest.mark.service


def _by_unit(outcomes):
    return {outcome.unit: outcome for outcome in outcomes}


def test_outcomes_faults_and_retries_by_class(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    tries.mkdir()

    def work(unit: str) -> str:
        count = len(list(tries.glob(f"{unit}.*")))
        (tries / f"{unit}.{count}").touch()
        if unit == "flaky" and count == 0:
            raise SandboxFault("the sandbox hiccuped")
        if unit == "hopeless":
            raise ToolchainMissing("no compiler", "install one")
        if unit == "bug":
            raise ZeroDivisionError("in our code")
        if unit == "killed":
            os._exit(1)
        return unit.upper()

    with RayCluster(Settings(cache=tmp_path / "cache", jobs=2)):
        units = ["fine", "flaky", "hopeless", "bug", "killed", "last"]
        found = _by_unit(map_units(work, units, in_flight=2, retries=1))
        started = time.monotonic()
        with pytest.raises(OrchestrationFault, match="no Ray node offers CPU=1, MI300X=1"):
            list(map_units(work, ["x"], in_flight=1, resources={"MI300X": 1}, patience_s=1.5))
        assert time.monotonic() - started < 30
    assert set(found) == set(units)
    assert [found[u].value for u in ("fine", "flaky", "last")] == ["FINE", "FLAKY", "LAST"]
    assert isinstance(found["hopeless"].error, ToolchainMissing)
    assert found["hopeless"].error.next_step == "install one"
    assert type(found["bug"].error) is InfrastructureError
    assert "ZeroDivisionError" in found["bug"].error.cause
    assert isinstance(found["killed"].error, OrchestrationFault)
    runs = {unit: len(list(tries.glob(f"{unit}.*"))) for unit in units}
    assert runs == {"fine": 1, "flaky": 2, "hopeless": 1, "bug": 1, "killed": 2, "last": 1}
    token = tmp_path / "cache" / "ray" / "auth_token"
    assert token.stat().st_mode & 0o077 == 0


def test_a_node_that_dies_loses_no_unit(tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster

    def work(unit: int) -> int:
        time.sleep(0.5)
        return unit * unit

    small = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
    try:
        doomed = cluster.add_node(**small)
        settings = Settings(cache=tmp_path / "cache", ray_address=cluster.address)
        with RayCluster(settings):
            outcomes = []
            for outcome in map_units(work, range(10), in_flight=6):
                outcomes.append(outcome)
                if len(outcomes) == 2:
                    cluster.remove_node(doomed, allow_graceful=False)
        assert sorted(o.value for o in outcomes) == [n * n for n in range(10)]
    finally:
        cluster.shutdown()


def test_a_cluster_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    settings = Settings(cache=tmp_path, ray_address="127.0.0.1:1")
    with (
        pytest.raises(OrchestrationFault, match=r"Ray cluster at 127\.0\.0\.1:1"),
        RayCluster(settings),
    ):
        pass
