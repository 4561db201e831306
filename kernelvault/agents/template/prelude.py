"""Device helpers of generated sources; each is included only where it is used."""

from __future__ import annotations

_BASIC = {
    "KvPack": """template <typename T, int N>
struct alignas(sizeof(T) * N) KvPack {
  T v[N];
};""",
    "kv_at_most": """template <typename A, typename B>
__device__ inline A kv_at_most(A x, B high) {
  return x > high ? (A)high : x;
}""",
    "kv_max": """// NaN wins, as in PyTorch.
template <typename A, typename B>
__device__ inline A kv_max(A a, B b) {
  return (a > b || a != a) ? a : (A)b;
}""",
    "kv_min": """// NaN wins, as in PyTorch.
template <typename A, typename B>
__device__ inline A kv_min(A a, B b) {
  return (a < b || a != a) ? a : (A)b;
}""",
}


def _wave(kind: str) -> str:
    return f"""template <typename T>
__device__ inline T kv_wave_{kind}(T x) {{
  for (int step = 32; step > 0; step >>= 1) {{
    const T other = __shfl_xor(x, step);
    x = {_combine(kind, "x", "other")};
  }}
  return x;
}}"""


def _combine(kind: str, a: str, b: str) -> str:
    return f"{a} + {b}" if kind == "sum" else f"kv_{kind}({a}, {b})"


def _block(kind: str) -> str:
    return f"""// Waves reduce by shuffles, then every work-item combines the waves' results.
template <int BLOCK, typename T>
__device__ inline T kv_block_{kind}(T x) {{
  __shared__ T part[BLOCK / 64];
  x = kv_wave_{kind}(x);
  if (threadIdx.x % 64 == 0) part[threadIdx.x / 64] = x;
  __syncthreads();
  x = part[0];
  for (int wave = 1; wave < BLOCK / 64; ++wave) x = {_combine(kind, "x", "part[wave]")};
  __syncthreads();
  return x;
}}"""


def _tree(kind: str) -> str:
    mine, other = "part[threadIdx.x]", "part[threadIdx.x + step]"
    return f"""// A tree in LDS.
template <int BLOCK, typename T>
__device__ inline T kv_tree_{kind}(T x) {{
  __shared__ T part[BLOCK];
  part[threadIdx.x] = x;
  __syncthreads();
  for (int step = BLOCK / 2; step > 0; step >>= 1) {{
    if (threadIdx.x < step) {mine} = {_combine(kind, mine, other)};
    __syncthreads();
  }}
  x = part[0];
  __syncthreads();
  return x;
}}"""


def device_helpers(kernels: str) -> str:
    """The helpers that `kernels` calls, and those they call themselves, in order."""
    wanted: list[str] = []
    text = kernels
    for kind in ("sum", "max", "min"):
        pieces = []
        if f"kv_tree_{kind}" in kernels:
            pieces.append(_tree(kind))
        if f"kv_block_{kind}" in kernels:
            pieces += [_wave(kind), _block(kind)]
        elif f"kv_wave_{kind}" in kernels:
            pieces.append(_wave(kind))
        wanted += pieces
        text += "".join(pieces)
    basic = [code for name, code in _BASIC.items() if name in text]
    return "\n\n".join([*basic, *wanted])
