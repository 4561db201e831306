"""Every operation and dtype of the table: right or refused, never wrong."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

TABLE = Path(__file__).parent / "interpreter_table"
INSIDE = Path(__file__).parents[2] / "kernelvault" / "execution" / "triton" / "inside"


class Cell(NamedTuple):
    """One operation on one dtype, and the answer."""

    group: str
    name: str
    dtype: str
    outcome: str  # right | refused | n/a | wrong; with `compile`: compiled | rejected
    detail: str

    @property
    def key(self) -> str:
        return f"{self.group}|{self.name}|{self.dtype}"


def judge(mode: str, folder: Path, keys: list[str] | None = None) -> list[Cell]:
    """Answers of one child process: `repaired`, `stock` or `compile`."""
    command = [sys.executable, "-W", "ignore", str(TABLE / "child.py"), mode, str(folder)]
    command += [str(INSIDE)] + ([json.dumps(keys)] if keys else [])
    out = subprocess.run(
        command, capture_output=True, text=True, check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TRITON_CACHE_DIR": str(folder / "cache")},
    )  # fmt: skip
    return [Cell(*row) for row in json.loads(out.stdout)]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    return judge("repaired", tmp_path_factory.mktemp("repaired"))


def test_no_cell_is_wrong(cells: list[Cell]) -> None:
    assert [cell for cell in cells if cell.outcome == "wrong"] == []


def test_the_table_is_large_and_mostly_right(cells: list[Cell]) -> None:
    counts = Counter(cell.outcome for cell in cells)
    assert len({(cell.group, cell.name) for cell in cells}) >= 220
    assert counts["right"] >= 1150
    assert sum(cell.dtype == "bfloat16" and cell.outcome == "right" for cell in cells) >= 90


def test_refusals_name_the_operation(cells: list[Cell]) -> None:
    refused = {cell.name for cell in cells if cell.outcome == "refused"}
    assert refused == {
        "fused multiply-add",
        "beyond the range of float8e4nv",
        "inline assembly",
        "not in AMD's library (normcdf)",
    }


def test_the_stock_interpreter_is_wrong_for_bfloat16(tmp_path: Path) -> None:
    """The control: the same table finds the interpreter that Triton ships wrong."""
    rows = ["arithmetic|add", "arithmetic|multiply", "matrix products|dot, ieee"]
    rows += ["reductions|sum of rows", "comparisons and booleans|less"]
    keys = [f"{row}|{dtype}" for row in rows for dtype in ("float32", "bfloat16")]
    answers = {cell.key: cell.outcome for cell in judge("stock", tmp_path, keys)}
    assert {answers[f"{row}|float32"] for row in rows} == {"right"}
    assert {answers[f"{row}|bfloat16"] for row in rows} == {"wrong"}


@pytest.mark.slow
def test_what_is_not_offered_does_not_compile(cells: list[Cell], tmp_path: Path) -> None:
    keys = [cell.key for cell in cells if cell.outcome == "n/a"]
    assert len(keys) > 50
    compiled = [c.key for c in judge("compile", tmp_path, keys) if c.outcome == "compiled"]
    assert compiled == []
