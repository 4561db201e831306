"""What the warm sandbox runs: from `task.json` in one folder to `answers.json` in another.

The task is `{"title", "inputs", "domain", "graph", "variants"}`; the answer, in the order of the
variants, a list of `{"source"}` or `{"reason"}`.
"""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

from kernelvault.agents.inductor.variants import VARIANTS
from kernelvault.agents.inductor.writer import device

_X = {"node": "x"}


def _graph(op: str, *args: Any) -> dict[str, Any]:
    """One operator on a square matrix of open size."""
    x = {"name": "x", "kind": "user", "index": 0}
    tensor = {"dtype": "float32", "shape": ["s0", "s0"]}
    node = {"name": "y", "op": op, "args": [_X, *args], "kwargs": []}
    return {
        "inputs": [{**x, "tensor": tensor}],
        "nodes": [node],
        "outputs": ["y"],
        "symbols": [["s0", 0, 0]],
    }


def preload() -> None:
    """Import Inductor beside its pretended device, and lower two small graphs: most of what it
    imports, it imports late."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    device.install()  # before Inductor is imported: it looks for a device then
    from kernelvault.agents.inductor.writer.answer import answer

    for graph in (_graph("aten._softmax.default", -1, False), _graph("aten.mm.default", _X)):
        answer(
            {
                "title": "",
                "inputs": ["x"],
                "domain": {"s0": [1, None]},
                "graph": graph,
                "variants": [VARIANTS[0].as_json()],
            }
        )


def run(given: str, made: str) -> None:
    """Answer the task in folder `given`; an error that is not foreseen ends the process."""
    from kernelvault.agents.inductor.writer.answer import answer

    task = json.loads((Path(given) / "task.json").read_bytes())
    (Path(made) / "answers.json").write_text(json.dumps(answer(task)))
