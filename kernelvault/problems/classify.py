"""Family and graph group of a problem, read off its operator graph."""

from __future__ import annotations

from typing import Any

from kernelvault.hashing import content_id
from kernelvault.spec.graph import Graph

# First match wins: the operator that decides how a kernel must be built comes first.
_FAMILIES: tuple[tuple[str, frozenset[str]], ...] = (
    ("convolution", frozenset({"convolution"})),
    ("loss", frozenset({"nll_loss_forward", "nll_loss2d_forward"})),
    ("pool", frozenset({
        "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool2d_with_indices",
        "max_pool3d_with_indices", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d",
        "adaptive_avg_pool1d",
    })),
    ("scan", frozenset({"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"})),
    ("sort", frozenset({"sort", "topk", "argmax", "argmin"})),
    ("matmul", frozenset({"mm", "addmm", "bmm", "baddbmm", "dot", "mv"})),
    ("norm", frozenset({
        "native_layer_norm", "native_group_norm", "native_batch_norm",
        "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
        "_native_batch_norm_legit_no_training", "_native_batch_norm_legit.no_stats",
    })),
    ("softmax", frozenset({"_softmax", "_log_softmax"})),
    ("gather", frozenset({"embedding", "gather", "index", "index_select", "scatter", "index_put"})),
)  # fmt: skip
_REDUCTIONS = frozenset(
    {
        "sum",
        "mean",
        "amax",
        "amin",
        "max",
        "min",
        "prod",
        "var",
        "var_mean",
        "any",
        "linalg_vector_norm",
    }
)
_MOVES = frozenset(
    {"permute", "transpose", "clone", "view", "_unsafe_view", "reshape", "expand", "slice",
     "unsqueeze", "squeeze", "select", "cat", "flip", "copy", "alias"}
)  # fmt: skip


def operators(graph: Graph) -> tuple[str, ...]:
    """Distinct operators, sorted."""
    return tuple(sorted({node.op for node in graph.nodes}))


def family(graph: Graph) -> str:
    """One word for what kind of kernel the graph needs."""
    names = {_base(node.op) for node in graph.nodes}
    if "_log_softmax" in names and names & {"gather", "index"} and names & {"sum", "mean"}:
        return "loss"
    for name, members in _FAMILIES:
        if names & members:
            return name
    if names & _REDUCTIONS:
        if "rsqrt" in names:
            return "norm"
        # A softmax that was spelled out divides by the sum of its exponentials.
        return "softmax" if {"exp", "sum", "div"} <= names else "reduction"
    return "transpose" if names and names <= _MOVES else "elementwise"


def graph_group(graph: Graph) -> str:
    """Hash of operators, dtypes and wiring without shapes or numbers: shape mutants share it."""
    places = {entry.name: f"{entry.kind}{entry.index}" for entry in graph.inputs}
    body = []
    for position, node in enumerate(graph.nodes):
        places[node.name] = f"node{position}"
        dtype = node.tensor.dtype if node.tensor else ""
        wires = _wires([node.args, [value for _, value in node.kwargs]], places)
        body.append([node.op, dtype, wires])
    return content_id("graph_group", [body, [places[name] for name in graph.outputs]])


def _base(op: str) -> str:
    parts = op.split(".")
    return parts[1] if len(parts) > 1 else op


def _wires(value: Any, places: dict[str, str]) -> list[str]:
    if isinstance(value, dict):
        return [places[value["node"]]] if "node" in value else []
    if isinstance(value, list | tuple):
        return [wire for item in value for wire in _wires(item, places)]
    return []
