"""The Inductor agent: sources that stand alone, differ, and are right."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernelvault.agents.contract import Proposal, Turn
from kernelvault.agents.inductor.agent import InductorAgent
from kernelvault.execution.triton.executor import TritonCpuExecutor
from kernelvault.problems import catalog
from kernelvault.problems.prepare import PreparedProblem, prepare
from kernelvault.sandbox import Sandbox, open_sandbox
from kernelvault.settings import Settings, resolve
from kernelvault.spec.candidate import make_candidate
from kernelvault.spec.graph import Graph, GraphInput, GraphNode, GraphTensor
from kernelvault.spec.preset import get_preset
from kernelvault.spec.problem import Domain, Signature, SymbolRange, TensorSpec
from kernelvault.verification.compare import compare
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.report import failed_gate
from kernelvault.verification.subject import subject_of

FAMILIES = ("softmax_last_dim", "linear_gelu", "transpose_2d")
NAMES = [source.name for source in catalog.builtin()]


@dataclass(frozen=True)
class Bench:
    settings: Settings
    sandbox: Sandbox
    agent: InductorAgent

    def prepare(self, name: str) -> PreparedProblem:
        return prepare(catalog.find(name), resolve(), self.sandbox)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    settings = resolve({"cache": str(tmp_path_factory.mktemp("inductor"))})
    sandbox = open_sandbox(settings.sandbox)
    yield Bench(settings, sandbox, InductorAgent(settings, sandbox))


def proposals(agent: InductorAgent, problem: Any) -> list[Proposal]:
    history: list[Turn] = []
    while (proposal := agent.propose(problem, history)) is not None:
        history.append(Turn(proposal, True, None, ""))
    return [turn.proposal for turn in history]


def imported(source: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    return found


def is_right(source: str, prepared: PreparedProblem, executor: TritonCpuExecutor) -> bool:
    """Whether a source gives what is expected on every workload."""
    subject, tolerance_of = subject_of(prepared), get_preset("basic").tolerance
    report = executor.run(source, [case.call(subject.signature) for case in subject.cases])
    assert report.fault is None
    triples = [
        triple
        for case, result in zip(subject.cases, report.results, strict=True)
        for triple in zip(result.outputs, case.expected.wide, case.expected.native, strict=True)
    ]
    found = [
        compare(got, wide, native, tolerance_of(native.dtype)) for got, wide, native in triples
    ]
    return bool(found) and all(not c.mismatches + c.nonfinite_mismatches for c in found)


@pytest.fixture(scope="module")
def executor(bench: Bench) -> Iterator[TritonCpuExecutor]:
    made = TritonCpuExecutor(bench.sandbox)
    yield made
    made.close()


@pytest.mark.parametrize("name", FAMILIES)
def test_sources_stand_alone_differ_and_are_right(
    name: str, bench: Bench, executor: TritonCpuExecutor
) -> None:
    prepared = bench.prepare(name)
    found = proposals(bench.agent, prepared)
    sources = [proposal.source or "" for proposal in found]
    assert len(set(sources)) == len(found) >= 3
    for source in sources:
        assert imported(source) <= {"torch", "triton", "triton.language", "triton.language.extra"}
        assert "_inductor" not in source.replace("torch/_inductor/", "")
        assert "BSD-3-Clause" in source
    assert is_right(sources[0], prepared, executor)


def test_answers_are_kept_and_equal(bench: Bench) -> None:
    prepared = bench.prepare(FAMILIES[0])
    first = proposals(bench.agent, prepared)
    again = InductorAgent(bench.settings, bench.sandbox)  # its sandbox never starts
    assert proposals(again, prepared) == first
    for kept in (bench.settings.cache / "inductor").iterdir():
        kept.write_text("damaged")
    assert proposals(bench.agent, prepared) == first


@dataclass(frozen=True)
class Named:
    signature: Signature
    domain: Domain
    name: str = "made_up"
    family: str = "linear_algebra"


@dataclass(frozen=True)
class View:
    graph: Graph
    problem: Any


@pytest.mark.parametrize(
    ("op", "reason"), [("aten.cholesky.default", "cholesky"), ("aten.no_such.default", "no_such")]
)
def test_what_stays_outside_triton_is_said(op: str, reason: str, bench: Bench) -> None:
    tensor = GraphTensor("float32", ("s0", "s0"))
    graph = Graph(
        (GraphInput("x", "user", 0, tensor),),
        (GraphNode("y", op, ({"node": "x"},), (), tensor),),
        ("y",),
        (("s0", 0, 0),),
    )
    specs = (TensorSpec("x", "user", "float32", ("s0", "s0")),)
    domain = Domain((SymbolRange("s0", 0, 0, 1, None),), ("float32",))
    found = proposals(bench.agent, View(graph, Named(Signature(specs, (), ()), domain)))
    assert [proposal.source for proposal in found] == [None]
    assert reason in found[0].reason


GRAPHS = {
    "softmax over the middle": "torch.softmax(x.reshape(x.shape[0], 4, -1), dim=1)",
    "two reductions of one row": "(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)",
    "reduction of everything": "(x.sum(-1) - x.sum(-1).mean()).exp()",
    "attention": "torch.softmax(x @ x.t(), dim=-1) @ x",
    "several outputs": "(x + 1, x.amax(0), x.t())",
    "the same output twice": "(lambda y: (y, y))(x * 2)",
    "an input and a view of it": "(x, x.reshape(-1))",
    "booleans": "torch.where(x > 0, x, -x) > 0.5",
    "indices": "(x.argmax(-1), x.min(-1).indices)",
    "half": "torch.nn.functional.silu(x.half())",
    "a constant": "x + torch.tensor([1.0, 2.0, 3.0, 4.0])[:1]",
    "running sum": "x.cumsum(0)",
    "concatenation": "torch.cat([x, 2 * x], 1)",
    "padding": "torch.nn.functional.pad(x, (1, 2))",
    "convolution": "torch.nn.functional.conv1d(x[:, None], torch.ones(2, 1, 3))",
    "sorting": "x.sort(-1).values",
    "products": "x.prod(-1)",
    "all and any": "((x > 0).all(-1), (x > 1).any(0))",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_odd_graphs_are_right_or_say_why(
    name: str, bench: Bench, executor: TritonCpuExecutor, tmp_path: Path
) -> None:
    file = tmp_path / "odd.py"
    file.write_text(
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        f"        return {GRAPHS[name]}\n"
        "def get_inputs():\n    return [torch.randn(32, 64)]\n"
        "def get_cases(kind):\n"
        "    sizes = ((4, 8), (3, 64), (65, 4), (33, 100), (8, 8))\n"
        "    return [[torch.randn(n, m)] for n, m in sizes]\n"
    )
    prepared = prepare(catalog.from_file(file), resolve(), bench.sandbox)
    for proposal in proposals(bench.agent, prepared):
        assert proposal.source is not None or proposal.reason
        if proposal.source is not None:
            assert is_right(proposal.source, prepared, executor), proposal.schedule["name"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_variant_passes_every_gate(name: str, bench: Bench) -> None:
    prepared = bench.prepare(name)
    verifier = make_verifier(resolve(), bench.sandbox, "triton")
    failures, passed = [], 0
    for proposal in proposals(bench.agent, prepared):
        assert proposal.source is not None
        candidate = make_candidate(prepared.problem.problem_id, "triton", proposal.source)
        failure = failed_gate(verifier.verify(candidate, subject_of(prepared)))
        failures += [(proposal.schedule["name"], str(failure))] if failure else []
        passed += failure is None
    assert failures == [] and passed >= 2
