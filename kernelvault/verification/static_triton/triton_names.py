"""Names of Triton's device language that a kernel may use.

Copied from `triton.language.__all__`, `triton/language/math.py` and AMD's libdevice of Triton
3.6 to 3.8; a test compares them with the installed release.
"""

from __future__ import annotations

LANGUAGE = frozenset(
    """PropagateNan TRITON_MAX_TENSOR_NUMEL abs add advance arange argmax argmin associative_scan
    assume atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor
    bfloat16 bitonic_merge block_type broadcast broadcast_to cast cat cdiv ceil clamp condition
    const constexpr constexpr_type cos cumprod cumsum debug_barrier device_assert device_print
    div_rn dot dot_scaled dtype erf exp exp2 expand_dims fdiv flip float16 float32 float64
    float8e4b15 float8e4b8 float8e4nv float8e5 float8e5b16 floor fma full gather histogram
    inline_asm_elementwise int1 int16 int32 int64 int8 interleave join load
    load_tensor_descriptor log log2 make_block_ptr make_tensor_descriptor map_elementwise max
    max_constancy max_contiguous maximum min minimum mul multiple_of num_programs
    pair_uniform_to_normal permute philox philox_impl pi32_t pointer_type program_id rand rand4x
    randint randint4x randn randn4x range ravel reduce reduce_or reshape rsqrt sigmoid sin slice
    softmax sort split sqrt sqrt_rn squeeze static_assert static_print static_range store
    store_tensor_descriptor sub sum swizzle2d tensor tensor_descriptor to_tensor topk trans tuple
    uint16 uint32 uint64 uint8 uint_to_uniform_float umulhi unsqueeze view void where xor_sum
    zeros zeros_like""".split()
)
MATH = frozenset(
    "abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi".split()
)
AMD_LIBDEVICE = frozenset(
    """abs acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh cyl_bessel_i0
    cyl_bessel_i1 erf erfc erfcx erfinv exp exp2 expm1 fast_dividef fast_expf fast_tanhf finitef
    floor fma fmod hypot ilogb isfinited isinf isnan j0 j1 ldexp lgamma llrint log log10 log1p
    log2 nearbyint nextafter pow rint round rsqrt signbit sin sinh sqrt tan tanh trunc y0
    y1""".split()
)
CLOCKS = frozenset("globaltimer clock clock64 smid memrealtime memtime".split())

# Attributes of values inside kernels: tensors, dtypes, constexpr, descriptors.
VALUE_ATTRIBUTES = frozenset(
    """T abs advance argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_max
    atomic_min atomic_or atomic_xchg atomic_xor broadcast_to cast cdiv cos cumprod cumsum exp
    expand_dims flip gather histogram log logical_and logical_or max min permute ravel reduce
    reduce_or reshape rsqrt sigmoid sin softmax sort split sqrt store sum to trans view xor_sum
    load scatter dtype shape type numel element_ty scalar value block_shape block_type strides
    base primitive_bitwidth int_bitwidth fp_mantissa_width itemsize nbytes is_bf16 is_block
    is_bool is_const is_dtype is_floating is_fp16 is_fp32 is_fp64 is_fp8 is_fp8e4b15 is_fp8e4b8
    is_fp8e4nv is_fp8e5 is_fp8e5b16 is_int is_int1 is_int16 is_int32 is_int64 is_int8
    is_int_signed is_int_unsigned is_ptr is_standard_floating is_uint16 is_uint32 is_uint64
    is_uint8 is_void with_element_ty get_block_shapes ALL""".split()
)
