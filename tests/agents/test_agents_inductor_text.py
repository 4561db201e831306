"""How the Inductor agent reads kernels and wrappers, and how it plans launches."""

import pytest

from kernelvault.agents.inductor.names import tensor_names
from kernelvault.agents.inductor.variants import VARIANTS, variant_of
from kernelvault.agents.inductor.writer.errors import UnsupportedError
from kernelvault.agents.inductor.writer.host import Launch, is_dense, read_wrapper
from kernelvault.agents.inductor.writer.kernels import read_kernel, rename
from kernelvault.agents.inductor.writer.launch import plan

KERNEL = """
@triton_heuristics.persistent_reduction(
    reduction_hint=ReductionHint.INNER,
    inductor_meta={'grid_type': 'Grid1D', 'kernel_name': 'k'}
)
@triton.jit
def triton_per_fused_sum_0(in_ptr0, out_ptr0, ks0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    R0_BLOCK: tl.constexpr = 1024
    rnumel = r0_numel
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    unused = rnumel
    tmp0 = tl.load(in_ptr0 + (r0_index + 8*xindex), r0_index < r0_numel)
    tl.store(out_ptr0 + (xindex), tl.sum(tmp0, 1)[:, None], xindex < xnumel)
"""

WRAPPER = """
triton_k = async_compile.triton('triton_k', '''text''', device_str='cuda')
def call(args):
    arg0_1, = args
    args.clear()
    arg0_1_size = arg0_1.size()
    s7 = arg0_1_size[0]
    with torch.cuda._DeviceGuard(0):
        buf0 = empty_strided_cuda((s7, 4), (4, 1), torch.float32)
        raw_stream0 = get_raw_stream(0)
        {call}
        del arg0_1
    return (buf0, )
"""


def test_names_are_identifiers_and_differ() -> None:
    found = tensor_names(["x", "norm.weight", "x", "torch", "0.bias", "s1", "lambda"])
    assert found == ("x", "norm_weight", "x_2", "in_torch", "in_0_bias", "in_s1", "in_lambda")


def test_variants_survive_json() -> None:
    assert tuple(variant_of(variant.as_json()) for variant in VARIANTS) == VARIANTS
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS) <= 4


def test_a_kernel_loses_what_it_does_not_use() -> None:
    kernel = read_kernel(KERNEL)
    assert (kernel.kind, kernel.grid, kernel.inner) == ("persistent_reduction", "Grid1D", True)
    assert kernel.kept == ("in_ptr0", "out_ptr0", "xnumel", "r0_numel")  # ks0 is never read
    assert kernel.blocks == ("XBLOCK", "R0_BLOCK")  # the row's length is open
    assert "rnumel =" not in kernel.text and "unused" not in kernel.text


def test_a_row_of_fixed_length_keeps_its_block() -> None:
    kernel = read_kernel(KERNEL.replace("    rnumel = r0_numel", "    r0_numel = 768"))
    assert kernel.blocks == ("XBLOCK",) and "r0_numel" not in kernel.kept
    assert "R0_BLOCK: tl.constexpr = 1024" in kernel.text


def test_sizes_that_are_converted_are_known() -> None:
    line = "    tmp0 = tl.load(in_ptr0 + (r0_index"
    kernel = read_kernel(KERNEL.replace(line, f"    n = (2*ks0).to(tl.float32) * n\n{line}"))
    assert kernel.converted == ("ks0",)
    assert read_kernel(KERNEL).converted == ()


def test_kernels_of_unknown_kinds_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="split_scan"):
        read_kernel(KERNEL.replace("persistent_reduction(", "split_scan("))


def test_renaming_leaves_attributes_alone() -> None:
    assert rename("sum + tl.sum(sum0)", {"sum": "total"}) == "total + tl.sum(sum0)"


def test_a_wrapper_is_a_list_of_steps() -> None:
    known = read_wrapper(WRAPPER.replace("{call}", "triton_k.run(arg0_1, buf0, 4 * s7)"))
    assert known.inputs == ("arg0_1",) and known.outputs == ("buf0",)
    assert known.steps[-1] == Launch("triton_k", ("arg0_1", "buf0", "4 * s7"))


@pytest.mark.parametrize(
    "call", ["extern_kernels.mm(arg0_1, arg0_1, out=buf0)", "buf1 = torch.ops.aten.sort(arg0_1)"]
)
def test_calls_into_aten_are_refused(call: str) -> None:
    with pytest.raises(UnsupportedError, match="no Triton kernel"):
        read_wrapper(WRAPPER.replace("{call}", call))


def test_density_is_tried_on_sizes() -> None:
    assert is_dense(("s7", "4"), ("4", "1"), {"s7": 101})
    assert is_dense(("s7", "1"), ("1", "s7"), {"s7": 101})  # a size of 1 has any stride
    assert not is_dense(("s7", "4"), ("1", "s7"), {"s7": 101})


def test_blocks_follow_sizes() -> None:
    kernel = read_kernel(KERNEL)
    launch = plan(kernel, {"xnumel": "s0", "r0_numel": "s1"}, (), VARIANTS[0])
    assert launch.before[0] == "R0_BLOCK = triton.next_power_of_2(s1)"
    assert launch.grid == "(triton.cdiv(s0, XBLOCK),)"
    small = plan(kernel, {"xnumel": "3", "r0_numel": "20"}, (), VARIANTS[0])
    assert dict(small.blocks) == {"XBLOCK": "4", "R0_BLOCK": "32"}
    assert small.grid == "(1,)"
