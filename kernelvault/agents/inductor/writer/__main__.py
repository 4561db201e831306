"""`python -m kernelvault.agents.inductor.writer IN OUT`: IN/task.json to OUT/answers.json.

The task is `{"title", "inputs", "domain", "graph", "variants"}`; the answer, in the order of the
variants, a list of `{"source"}` or `{"reason"}`.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

from kernelvault.agents.inductor.writer import device


def main(given: Path, made: Path) -> None:
    """Answer the task; an error that is not the graph's fault ends the process."""
    task = json.loads((given / "task.json").read_bytes())
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    device.install()  # before Inductor is imported: it looks for a device then
    from kernelvault.agents.inductor.writer.answer import answer

    answers: list[dict[str, Any]] = answer(task)
    (made / "answers.json").write_text(json.dumps(answers))


main(Path(sys.argv[1]), Path(sys.argv[2]))
