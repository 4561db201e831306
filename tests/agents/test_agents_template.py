"""The template agent: lowering, schedules, policy, and kernels that pass every gate."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernelvault.agents.context import open_workbench
from kernelvault.agents.contract import Proposal, Turn
from kernelvault.agents.pipeline import Unit, run_unit
from kernelvault.agents.template import TemplateAgent
from kernelvault.agents.template.dims import UnsupportedError, c_size, product
from kernelvault.agents.template.lowering import lower
from kernelvault.agents.template.policy import next_schedule, static_score
from kernelvault.agents.template.program import dominant_kind, generate
from kernelvault.agents.template.schedules import schedules_for
from kernelvault.problems import catalog
from kernelvault.problems.prepare import prepare
from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings, resolve
from kernelvault.spec.candidate import make_candidate
from kernelvault.spec.graph import Graph, GraphInput, GraphNode, GraphTensor
from kernelvault.verification.factory import make_verifier
from kernelvault.verification.report import failed_gate
from kernelvault.verification.subject import subject_of

FAMILIES = ["gelu_exact", "sum_last_dim", "softmax_last_dim", "layer_norm", "linear_gelu"]


def graph(op: str, shape: tuple[Any, ...] = ("s0", 64)) -> Graph:
    tensor = GraphTensor("float32", shape)
    node = GraphNode("y", op, ({"node": "x"},), (), tensor)
    given = GraphInput("x", "user", 0, tensor)
    return Graph((given,), (node,), ("y",), (("s0", 0, 0),))


@dataclass(frozen=True)
class Named:
    name: str = "made_up"
    family: str = "elementwise"


@dataclass(frozen=True)
class View:
    graph: Graph
    problem: Any = Named()


def turn(schedule: dict[str, Any], passed: bool = True, **kernel: int) -> Turn:
    usage = {"vgpr_spills": 0, "sgpr_spills": 0, "occupancy": 8, "instructions": 10, "isa": {}}
    profile = {"gfx942": [{**usage, **kernel}]}
    return Turn(Proposal("source", schedule), passed, None if passed else "compile", "", profile)


def test_sizes_have_one_spelling() -> None:
    assert c_size("s1*s0") == c_size("s0*s1")
    assert c_size("(s2 - 1)//2 + 1") == "((s2 - 1) / 2 + 1)" or "s2" in c_size("(s2 - 1)//2 + 1")
    assert product(("8", "s0", "(8 * s1)")) == product(("64", "s1", "1", "s0"))
    assert product(()) == "1"
    with pytest.raises(UnsupportedError):
        c_size("Max(1, s0)")


def test_operators_without_a_rule_are_named() -> None:
    with pytest.raises(UnsupportedError, match=r"aten\.cumsum\.default"):
        lower(graph("aten.cumsum.default"))
    proposal = TemplateAgent(4).propose(View(graph("aten.cumsum.default")), [])
    assert proposal is not None and proposal.source is None
    assert "cumsum" in proposal.reason
    after = Turn(proposal, False, None, proposal.reason)
    assert TemplateAgent(4).propose(View(graph("aten.cumsum.default")), [after]) is None


@pytest.mark.parametrize("kind", ["pointwise", "rows", "matmul"])
def test_each_kind_has_schedules_that_differ_in_structure(kind: str) -> None:
    schedules = schedules_for(kind)
    assert len({str(s.as_json()) for s in schedules}) >= 4
    assert len({s.structure for s in schedules}) >= 2


def test_equal_histories_give_equal_sources() -> None:
    view = View(graph("aten.tanh.default"))
    first = TemplateAgent(4).propose(view, [])
    assert first == TemplateAgent(4).propose(view, [])
    assert first is not None
    second = TemplateAgent(4).propose(view, [Turn(first, True, None, "", {})])
    assert second is not None and second.source != first.source


def test_the_agent_stops_after_its_attempts() -> None:
    view, history = View(graph("aten.tanh.default")), []
    while (proposal := TemplateAgent(attempts=3).propose(view, history)) is not None:
        history.append(Turn(proposal, True, None, "", {}))
    assert len({t.proposal.source for t in history}) == 3


def test_a_failed_structure_is_dropped_and_spills_call_for_less() -> None:
    schedules = schedules_for("matmul")
    tile = schedules[0].as_json()
    after_failure = next_schedule(schedules, [turn(tile, passed=False)])
    assert after_failure is not None and after_failure.structure != "lds_tile"
    big = next(s for s in schedules if s.size == 4).as_json()
    calm = [turn(s.as_json()) for s in schedules if s.structure != "lds_tile"]
    left = next_schedule(schedules, [*calm, turn(big, vgpr_spills=9)])
    assert left is None or left.size <= 4


def test_new_structures_come_first() -> None:
    schedules = schedules_for("rows")
    chosen = next_schedule(schedules, [turn(schedules[0].as_json())])
    assert chosen is not None and chosen.structure != schedules[0].structure


def test_the_score_prefers_fewer_instructions_and_more_waves() -> None:
    def score(**kernel: int) -> float:
        return static_score(turn({"structure": "x"}, **kernel).profile)

    assert score(instructions=10) < score(instructions=20) < score(instructions=20, vgpr_spills=1)
    assert score(occupancy=8) < score(occupancy=4)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return resolve({"corpus": str(tmp_path_factory.mktemp("agents") / "corpus")})


def judge_all(name_or_file: str, settings: Settings) -> list[tuple[str, str | None, str | None]]:
    """(schedule, failure, gfx942 code) of every schedule of a problem."""
    sandbox = open_sandbox(settings.sandbox)
    verifier = make_verifier(settings, sandbox, "hip")
    path = Path(name_or_file)
    source = catalog.from_file(path) if path.suffix else catalog.find(name_or_file)
    prepared = prepare(source, settings, sandbox)
    outputs, subject, found = lower(prepared.graph), subject_of(prepared), []
    for schedule in schedules_for(dominant_kind(outputs)):
        code = generate(prepared.graph, outputs, "test", schedule)
        made = verifier.verify(make_candidate(prepared.problem.problem_id, "hip", code), subject)
        failure = failed_gate(made)
        found.append(
            (str(schedule.as_json()), failure and str(failure), made[0].code_object_sha256)
        )
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_every_schedule_of_a_family_passes_with_code_of_its_own(
    name: str, settings: Settings
) -> None:
    found = judge_all(name, settings)
    assert [f for f in found if f[1] is not None] == []
    assert len({code for _, _, code in found}) == len(found) >= 4


GRAPHS = {
    "softmax over the middle": "torch.softmax(x.reshape(x.shape[0], 4, -1), dim=1)",
    "two reductions of one row": "(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)",
    "reduction of a reduction": "(x.sum(-1) - x.sum(-1).mean()).exp()",
    "product, then softmax": "torch.softmax(x @ x.t(), dim=-1)",
    "product of products": "(x @ x.t()) @ x",
    "several outputs": "(x + 1, x.amax(0))",
    "booleans": "torch.where(x > 0, x, -x) > 0.5",
    "half": "torch.nn.functional.silu(x.half())",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_odd_graphs_pass_or_are_unsupported(name: str, settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "odd.py"
    file.write_text(
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        f"        return {GRAPHS[name]}\n"
        "def get_inputs():\n    return [torch.randn(32, 64)]\n"
        "def get_cases(kind):\n"
        "    sizes = ((4, 8), (3, 64), (65, 4), (33, 100), (8, 8))\n"
        "    return [[torch.randn(n, m)] for n, m in sizes]\n"
    )
    try:
        found = judge_all(str(file), settings)
    except UnsupportedError as reason:
        assert "unsupported" in str(reason)
        return
    assert [f for f in found if f[1] is not None] == []


def test_a_unit_is_recorded_once(settings: Settings) -> None:
    unit = Unit("gelu_exact", "hip", "replay")
    corpus = open_workbench(settings).corpus
    first = run_unit(settings, unit)
    assert (first.attempts, first.passed, first.failed) == (5, 0, {"compile": 1, "correctness": 4})
    assert corpus.commit().changed
    again = run_unit(settings, unit)
    assert again.reused == again.attempts == 5
    assert not corpus.commit().changed


def test_recorded_kernels_fail_where_their_index_says(settings: Settings) -> None:
    folder = Path(catalog.__file__).parents[1] / "agents" / "replay" / "recorded"
    index = json.loads((folder / "index.json").read_text())
    for problem, language in sorted({(entry["problem"], entry["language"]) for entry in index}):
        run_unit(settings, Unit(problem, language, "replay"))
    corpus = open_workbench(settings).corpus
    corpus.commit()
    with corpus.connection() as connection:
        rows = connection.execute(
            "SELECT DISTINCT label, gate FROM verdicts JOIN attempts USING (candidate_id)"
            " WHERE agent = 'replay' AND outcome = 'failed'"
        ).fetchall()
    assert {(entry["label"], entry["gate"]) for entry in index} <= set(rows)
