"""What host code around the kernels may name: builtins, modules, torch and attributes of values."""

from __future__ import annotations

import re

BUILTINS = frozenset(
    """range len min max abs int float bool complex tuple list dict set frozenset zip enumerate
    isinstance sum round all any sorted reversed divmod pow print map filter slice str repr iter
    next super staticmethod property Ellipsis NotImplemented True False None ValueError TypeError
    RuntimeError AssertionError NotImplementedError IndexError KeyError Exception""".split()
)
MODULES = frozenset(
    """torch torch.nn torch.nn.functional torch.cuda triton triton.language
    triton.language.extra triton.language.extra.libdevice triton.language.extra.hip
    triton.language.extra.hip.libdevice triton.language.extra.cuda
    triton.language.extra.cuda.libdevice triton.language.math triton.runtime
    triton.runtime.driver math typing __future__""".split()
)
TYPING = frozenset(
    """Any Callable Dict Final Iterable List Literal Mapping Optional Sequence Set Tuple Type
    TypeAlias Union cast""".split()
)
_DTYPES = """float16 float32 float64 bfloat16 half float double int8 int16 int32 int64 uint8
    uint16 uint32 uint64 short int long bool complex64 complex128 float8_e4m3fn float8_e5m2
    float8_e4m3fnuz float8_e5m2fnuz"""
TORCH = frozenset(
    f"torch.{name}"
    for name in f"""{_DTYPES} Tensor device dtype Size strided
    contiguous_format preserve_format channels_last inf pi e
    squeeze unsqueeze transpose permute reshape flatten ravel movedim swapaxes narrow t unbind
    split chunk select as_strided broadcast_to
    empty empty_like empty_strided zeros zeros_like ones ones_like full full_like
    nn.Module nn.Parameter nn.parameter.Parameter finfo iinfo no_grad inference_mode
    promote_types result_type can_cast is_tensor is_floating_point broadcast_shapes numel
    get_default_dtype version.hip version.cuda cuda.device cuda.device_of cuda.current_device
    cuda.get_device_properties cuda.get_device_name cuda.get_device_capability cuda.is_available
    cuda.device_count""".split()
)
TRITON = frozenset(
    f"triton.{name}"
    for name in """jit autotune heuristics Config cdiv next_power_of_2 constexpr_function
    runtime.driver.active.utils.get_device_properties runtime.driver.active.get_current_target
    runtime.driver.active.get_current_device
    runtime.driver.active.get_active_torch_device""".split()
)
CONTEXTS = frozenset(
    "torch.cuda.device torch.cuda.device_of torch.no_grad torch.inference_mode".split()
)

# Attributes of values: views and metadata of tensors, containers, properties of devices.
VALUE_ATTRIBUTES = frozenset(
    """shape stride size dim ndim ndimension numel nelement dtype device layout element_size
    itemsize nbytes is_contiguous contiguous view reshape reshape_as ravel transpose permute expand
    expand_as view_as squeeze unsqueeze flatten unflatten as_strided t T mT narrow select unbind
    split chunk tensor_split movedim swapaxes swapdims unfold diagonal detach data requires_grad
    is_cuda is_cpu is_floating_point is_complex get_device storage_offset new_empty new_zeros
    new_ones new_full new_empty_strided zero_ type index real imag cuda to
    append extend insert pop remove clear copy items keys values get setdefault update
    discard sort reverse count union intersection difference join lower upper startswith endswith
    replace strip bit_length is_integer start stop step
    multi_processor_count warp_size max_threads_per_multi_processor regs_per_multiprocessor name
    major minor total_memory gcnArchName arch backend kwargs all_kwargs num_warps num_stages
    num_ctas min max eps tiny bits smallest_normal value""".split()
)
# Attributes of the layers whose weights a ModelNew keeps.
LAYER_ATTRIBUTES = frozenset(
    """weight bias in_features out_features eps kernel_size padding dilation groups in_channels
    out_channels num_features running_mean running_var momentum normalized_shape num_groups
    num_channels affine embedding_dim num_embeddings negative_slope p inplace hidden_size
    input_size num_layers ceil_mode output_padding alpha beta elementwise_affine bidirectional
    weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0 in_proj_weight in_proj_bias out_proj
    num_heads embed_dim head_dim num_parameters training padding_idx""".split()
)
INITIALISERS = frozenset("normal_ uniform_ zero_ fill_ copy_ trunc_normal_".split())
KERNEL_INTERNALS = frozenset(
    """fn base_fn cache device_caches run warmup pre_run_hooks add_pre_run_hook params module
    arg_names used_global_vals preload hash src raw_src configs pre_hook post_hook best_config
    perf_model early_config_prune bench prune_configs restore_value reset_to_zero rewriter
    rewrite asm function metadata""".split()
)
MUTATORS = frozenset(
    """append extend insert pop popitem remove clear setdefault update add discard sort
    reverse""".split()
)
HOST_DATA = frozenset("item tolist cpu numpy data_ptr untyped_storage storage pin_memory".split())
_COMPUTE = frozenset(
    """matmul mm bmm addmm dot sum mean amax amin argmax argmin prod var std norm softmax
    log_softmax relu sigmoid tanh exp log sqrt rsqrt sin cos clamp clip where masked_fill gather
    scatter scatter_add cumsum cumprod add sub mul div pow neg abs round floor ceil float half
    bfloat16 double int long bool char short repeat repeat_interleave tile roll flip sort topk all
    any nonzero unique index_select type_as maximum minimum erf logsumexp equal eq ne lt gt le ge
    allclose masked_select bernoulli fill_diagonal logical_and logical_or logical_not einsum cat
    stack max min type clone pad linear conv2d layer_norm nonzero forward""".split()
)
FRAME_ATTRIBUTES = re.compile(r"(gi|cr|ag|f|tb|co|func|im)_[a-z_]+$")
MODULE_API = frozenset(
    """state_dict load_state_dict parameters named_parameters buffers named_buffers modules
    named_modules children named_children train eval to cuda cpu half float double bfloat16 apply
    register_buffer register_parameter add_module zero_grad requires_grad_""".split()
)


def is_compute(method: str) -> bool:
    """Whether a tensor method computes values (or writes them in place)."""
    return method in _COMPUTE or (method.endswith("_") and not method.startswith("_"))


_DENIED_TORCH = (
    ("other_stream", r"cuda\.(\w*[sS]tream\w*)$|Stream$"),
    (
        "timing",
        r"cuda\.(Event|synchronize)$|Event$|profiler|autograd\.profiler|testing|utils\.bench",
    ),
    ("graph_replay", r"cuda\.(CUDAGraph|graph\w*|make_graphed_callables|graphs.*)$"),
    ("autograd", r"autograd"),
    (
        "harness_access",
        r"(.*\.)?_|utils|overrides|library|load$|save$|hub|multiprocessing|distributed|package"
        r"|jit|fx|backends|set_|serialization|classes|cuda\.|nn\.init|nn\.Buffer|version|storage",
    ),
)
_TORCH_ADVICE = {
    "other_stream": "launch on the current stream only",
    "timing": "candidates do not time or synchronise",
    "graph_replay": "launch kernels directly; captured graphs are not accepted",
    "autograd": "write the forward pass only, as module_fn",
    "harness_access": "host code may only allocate, take views and launch kernels",
    "tensor_compute": "compute it in a kernel; host code may only allocate, take views and launch",
}


def denied(path: str) -> tuple[str, str]:
    """Rule and advice for a dotted name of torch, Triton or another module that is refused."""
    root, _, rest = path.partition(".")
    if root != "torch":
        if rest.startswith("testing"):
            return "timing", _TORCH_ADVICE["timing"]
        return "harness_access", "use jit, autotune, heuristics, Config, cdiv and next_power_of_2"
    for rule, pattern in _DENIED_TORCH:
        if re.match(pattern, rest):
            return rule, _TORCH_ADVICE[rule]
    return "tensor_compute", _TORCH_ADVICE["tensor_compute"]
