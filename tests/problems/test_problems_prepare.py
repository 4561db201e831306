"""Problem files become problems, the same ones every time, and say why when they cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernelvault.errors import ProblemRejected, UsageError
from kernelvault.problems import catalog
from kernelvault.problems.prepare import PreparedProblem, prepare
from kernelvault.problems.reference.describe import manifest
from kernelvault.problems.reference.emit import Writer
from kernelvault.problems.reference.reject import Rejected
from kernelvault.problems.source import ProblemSource
from kernelvault.problems.worker import work
from kernelvault.sandbox import Limits, Sandbox, open_sandbox
from kernelvault.settings import Settings
from kernelvault.spec.graph import Graph
from kernelvault.spec.provenance import Provenance

NOWHERE = Provenance("", "", "test.py", "NOASSERTION")
HEAD = "import torch\nfrom torch import nn\n"
CASES = """
def get_inputs():
    return [torch.randn(4, 5)]

def get_init_inputs():
    return []

def get_cases(kind):
    return [[torch.randn(rows, 5)] for rows in (1, 2, 33, 65)]
"""
FULL = (
    HEAD
    + """
class Model(nn.Module):
    def __init__(self, scale, flag):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5))
        self.register_buffer("offset", torch.rand(5), persistent=False)
        self.scale = scale
        self.flag = flag

    def forward(self, x, shift: float = 0.5):
        return (x * self.weight + self.offset) * self.scale + shift * torch.tensor([2.0])

def get_inputs():
    return [torch.randn(4, 5), 0.25]

def get_init_inputs():
    return [3, True]

def get_cases(kind):
    return [[torch.randn(rows, 5), 0.25] for rows in (1, 2, 33, 65)]
"""
)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox("bubblewrap")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(cache=tmp_path_factory.mktemp("cache"))


def with_forward(body: str) -> str:
    return f"{HEAD}\nclass Model(nn.Module):\n    def forward(self, x):\n        {body}\n{CASES}"


def make(text: str, settings: Settings, sandbox: Sandbox) -> PreparedProblem:
    return prepare(ProblemSource("test", text, NOWHERE), settings, sandbox)


def assert_resolves(graph: Graph) -> None:
    known = {entry.name for entry in graph.inputs}

    def check(value: object) -> None:
        if isinstance(value, dict):
            assert len(value) == 1 and set(value) <= {"node", "sym", "dtype", "float"}
            assert "node" not in value or value["node"] in known
        elif isinstance(value, list | tuple):
            for item in value:
                check(item)

    for node in graph.nodes:
        check(node.args)
        check([value for _, value in node.kwargs])
        known.add(node.name)
    assert set(graph.outputs) <= known


def assert_sound(prepared: PreparedProblem) -> None:
    assert_resolves(prepared.graph)
    assert len(prepared.workloads) >= 4
    inputs = prepared.problem.signature.inputs
    for workload in prepared.workloads:
        arguments = prepared.arguments(workload)
        assert [t.dtype for t in arguments.inputs] == [spec.dtype for spec in inputs]
        expected = prepared.expected(workload)
        for native, wide in zip(expected.native, expected.wide, strict=True):
            assert native.shape == wide.shape
            scale = float(np.abs(wide).max()) if wide.size else 0.0
            np.testing.assert_allclose(native.as_float64(), wide, atol=0.05 * scale)


@pytest.mark.parametrize("name", ["linear_gelu", "rms_norm_bfloat16"])
def test_builtin_is_sound(name: str, settings: Settings, sandbox: Sandbox) -> None:
    assert_sound(prepare(catalog.find(name), settings, sandbox))


@pytest.mark.slow
@pytest.mark.parametrize("source", catalog.builtin(), ids=lambda source: source.name)
def test_every_builtin_is_sound(
    source: ProblemSource, settings: Settings, sandbox: Sandbox
) -> None:
    prepared = prepare(source, settings, sandbox)
    assert_sound(prepared)
    assert prepared.problem.reference_precision == "float64"


def test_signature_order(settings: Settings, sandbox: Sandbox, tmp_path: Path) -> None:
    prepared = make(FULL, settings, sandbox)
    signature = prepared.problem.signature
    assert [spec.kind for spec in signature.inputs] == ["user", "parameter", "buffer", "constant"]
    assert [spec.name for spec in signature.inputs[:3]] == ["x", "weight", "offset"]
    scalars = [(scalar.name, scalar.type, scalar.value) for scalar in signature.scalars]
    assert scalars == [("shift", "float", 0.25), ("scale", "int", 3), ("flag", "bool", True)]
    x, weight, offset, constant = (
        tensor.as_float64() for tensor in prepared.arguments(prepared.workloads[2]).inputs
    )
    wide = prepared.expected(prepared.workloads[2]).wide[0]
    np.testing.assert_allclose(wide, (x * weight + offset) * 3 + 0.25 * constant, rtol=1e-12)
    # A second worker, with nothing cached, comes to the same ids and bytes.
    again = make(FULL, Settings(cache=tmp_path), sandbox)
    assert again.problem == prepared.problem
    assert again.workloads == prepared.workloads
    assert again.entry.manifest == prepared.entry.manifest


def test_damaged_cache_is_rebuilt(settings: Settings, sandbox: Sandbox) -> None:
    prepared = make(FULL, settings, sandbox)
    path = next(prepared.entry.folder.glob("*.bin"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    again = make(FULL, settings, sandbox)
    assert again.problem == prepared.problem
    assert path.read_bytes() == whole


REJECTED = {
    "syntax": "def",
    "import_error": "import no_such_module",
    "no_model": "x = 1",
    "no_get_inputs": HEAD + "class Model(nn.Module):\n    pass\n",
    "needs_gpu": with_forward("return x.cuda()"),
    "not_tensors": with_forward("return 'text'"),
    "input_mutation": with_forward("return x.add_(1)"),
    "random": with_forward("return x + torch.rand_like(x)"),
    "nondeterministic": "import time\n" + with_forward("return x + time.perf_counter()"),
    "too_large": with_forward("return x").replace("(rows, 5)", "(rows, 50000000)"),
    "too_few_workloads": with_forward("return x + 1").replace("(1, 2, 33, 65)", "(1, 2)"),
}


@pytest.mark.parametrize("reason", [*REJECTED])
def test_rejections_are_named(reason: str, tmp_path: Path) -> None:
    # These texts are ours, so that they may run here and one import of torch serves them all.
    with pytest.raises(Rejected) as caught:
        manifest(REJECTED[reason], Writer(tmp_path))
    assert caught.value.reason == reason
    assert caught.value.cause and caught.value.next_step


def test_rejection_comes_out_of_the_sandbox(settings: Settings, sandbox: Sandbox) -> None:
    with pytest.raises(ProblemRejected) as caught:
        make(REJECTED["import_error"], settings, sandbox)
    assert caught.value.reason == "import_error"
    assert "no_such_module" in caught.value.cause and caught.value.next_step


HOSTILE = {
    "crashed": "import ctypes\nctypes.string_at(0)\n",
    "malformed": "import os\nopen('/out/manifest.json', 'w').write('[1]')\nos._exit(0)\n",
    "import_error": "import os\nos._exit(0)\n",
    "timeout": "while True:\n    pass\n",
}


@pytest.mark.parametrize("reason", [*HOSTILE])
def test_hostile_files_are_rejected(reason: str, settings: Settings, sandbox: Sandbox) -> None:
    source = ProblemSource("test", HOSTILE[reason], NOWHERE)
    with pytest.raises(ProblemRejected) as caught:
        if reason == "timeout":
            work(source, sandbox, Limits(wall_s=15, cpu_s=6, memory_bytes=4 << 30))
        else:
            prepare(source, settings, sandbox)
    assert caught.value.reason == reason


def test_no_cases_are_varied(settings: Settings, sandbox: Sandbox) -> None:
    text = with_forward("return torch.relu(x)").split("def get_cases")[0]
    prepared = make(text, settings, sandbox)
    shapes = {workload.shapes[0] for workload in prepared.workloads}
    assert {(4, 5), (1, 1), (65, 65)} <= shapes


LARGE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x)

def get_inputs():
    return [torch.rand(SIZE)]

def get_init_inputs():
    return []
"""


def test_large_native_sizes_are_a_recipe_and_shrunken_ones_the_workloads(
    settings: Settings, sandbox: Sandbox
) -> None:
    prepared = make(LARGE.replace("SIZE", "4096, 1024"), settings, sandbox)
    assert prepared.performance.shapes == ((4096, 1024),)
    shapes = {workload.shapes[0] for workload in prepared.workloads}
    assert {(1, 1), (65, 65), (128, 128)} <= shapes
    assert max(a * b for a, b in shapes) <= 128 * 128


@pytest.mark.parametrize("size", ["200000, 1024", "1 << 40"])
def test_sizes_beyond_all_bounds_are_rejected_without_being_made(
    size: str, settings: Settings, sandbox: Sandbox
) -> None:
    with pytest.raises(ProblemRejected) as caught:
        make(LARGE.replace("SIZE", size), settings, sandbox)
    assert caught.value.reason == "too_large"
    assert "get_cases" in str(caught.value)


def test_catalog() -> None:
    names = [source.name for source in catalog.builtin()]
    assert names == sorted(names) and len(names) >= 28
    with pytest.raises(UsageError):
        catalog.find("no_such_problem")


def test_from_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("x = 1\n")
    assert catalog.from_file(path).provenance.license_spdx == "NOASSERTION"
    path.write_bytes(b"#" * (catalog.MAX_FILE_BYTES + 1))
    with pytest.raises(UsageError):
        catalog.from_file(path)
