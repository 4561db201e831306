"""Runs Inductor's lowering and code generation on a traced graph; nothing is compiled."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch._inductor.config as inductor_config
from torch._guards import TracingContext, tracing
from torch._inductor import compile_fx
from torch._inductor.choices import InductorChoices
from torch._inductor.codegen.triton import TritonKernel
from torch._inductor.exc import InductorError
from torch._inductor.graph import GraphLowering
from torch._inductor.runtime.runtime_utils import next_power_of_2
from torch._inductor.select_algorithm import NoValidChoicesError
from torch._inductor.template_heuristics.triton import BaseConfigHeuristic
from torch._inductor.virtualized import V

from kernelvault.agents.inductor.variants import MAX_PERSISTENT_ROW, Variant
from kernelvault.agents.inductor.writer.errors import UnsupportedError, first_line
from kernelvault.agents.inductor.writer.rebuild import Traced


class _CodeWritten(BaseException):
    """Carries the generated text out, past the compilation that would follow.

    No Exception, so that no handler of Inductor's takes it for a failed lowering.
    """

    def __init__(self, code: str) -> None:
        super().__init__("code written")
        self.code = code


def lower(traced: Traced, variant: Variant) -> str:
    """The text of Inductor's output module; raises UnsupportedError when it has none."""
    module = copy.deepcopy(traced.module)
    with _choices(variant), inductor_config.patch(_options(variant)), _stop_after_codegen():
        try:
            with tracing(TracingContext(traced.mode)), traced.mode, torch.no_grad():
                compile_fx.compile_fx_inner(module, traced.arguments)
        except _CodeWritten as written:
            _refuse_narrowing(traced)
            return written.code
        except NoValidChoicesError as error:
            raise UnsupportedError("no Triton template fits a matrix product") from error
        except (InductorError, RuntimeError, AssertionError, NotImplementedError) as error:
            raise UnsupportedError(f"Inductor: {first_line(error)}") from error
    raise UnsupportedError("Inductor made no kernel: the graph holds no computation")


def _refuse_narrowing(traced: Traced) -> None:
    """Raise when an open size was given one value, or two were made equal. That a size is a
    multiple of something is what the graph's own reshapes ask for."""
    env = traced.mode.shape_env
    assert env is not None
    equal = [str(guard.expr) for guard in env.guards if guard.expr.is_Equality]
    equal = [text for text in equal if "Mod" not in text]
    equal += [f"{symbol} = {value}" for symbol, value in env.replacements.items()]
    if equal:
        raise UnsupportedError(f"Inductor's code only holds where {equal[0]}")


def _options(variant: Variant) -> dict[str, Any]:
    """Inductor's settings: only Triton, one kernel a fusion group, no autotuning."""
    return {
        "fx_graph_cache": False,
        "force_disable_caches": True,
        "compile_threads": 1,
        "split_reductions": False,
        "graph_partition": False,
        "combo_kernels": False,
        "size_asserts": False,
        "alignment_asserts": False,
        "assert_indirect_indexing": False,
        "max_autotune_gemm": True,
        "max_autotune_gemm_backends": "TRITON",
        "max_autotune_conv_backends": "TRITON",
        "autotune_fallback_to_aten": False,
        "autotune_in_subproc": False,
        "benchmark_epilogue_fusion": False,
        "triton.cudagraphs": False,
        "triton.cooperative_reductions": False,
        "triton.mix_order_reduction": False,
        "triton.multi_kernel": 0,
        "triton.descriptive_names": "original_aten",
        "triton.max_tiles": 2 if variant.tiled else 1,
    }


@contextmanager
def _stop_after_codegen() -> Iterator[None]:
    def write(graph: GraphLowering) -> Any:
        code, _ = graph.codegen()
        raise _CodeWritten(code.value if hasattr(code, "value") else str(code))

    with _replaced(GraphLowering, "compile_to_module", write):
        yield


@contextmanager
def _choices(variant: Variant) -> Iterator[None]:
    """Inductor's decisions of size and shape, as the variant has them."""

    class Choices(InductorChoices):
        @staticmethod
        def should_use_persistent_reduction(features: Any, cooperative_reduction: bool) -> bool:
            length = features.reduction_numel
            if length.is_Integer:
                return variant.persistent and int(length) <= MAX_PERSISTENT_ROW
            # The rows of an open size are short; a whole tensor need not be.
            return variant.persistent and length.is_Symbol and features.numel != 1

        @staticmethod
        def should_use_cooperative_reduction(*_: Any) -> bool:
            return False

    def row_block(length: Any) -> int:
        """The block of a whole row; the host computes it where the length is open."""
        return next_power_of_2(int(V.graph.sizevars.optimization_hint(length)))

    with (
        V.set_choices_handler(Choices()),
        _replaced(TritonKernel, "_get_persistent_RBLOCK", staticmethod(row_block)),
        _replaced(BaseConfigHeuristic, "preprocess_mm_configs", _one_tile(variant)),
    ):
        yield


def _one_tile(variant: Variant) -> Callable[..., Iterator[Any]]:
    """Stands for the search over tile shapes: the variant's own, nothing else."""

    def configs(self: Any, *_: Any, **__: Any) -> Iterator[Any]:
        block_m, block_n, block_k = variant.gemm
        yield self.triton_config(
            num_stages=variant.num_stages,
            num_warps=variant.num_warps,
            BLOCK_M=block_m,
            BLOCK_N=block_n,
            BLOCK_K=block_k,
            GROUP_M=8,
        )

    return configs


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    known = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, known)
