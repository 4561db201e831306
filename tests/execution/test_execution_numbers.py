"""Kernels that are right must give the numbers NumPy gives, on sizes off every round number."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from kernelvault.execution.contract import Call, OutputSpec, RunReport
from kernelvault.spec.tensor import Tensor

Run = Callable[[str, Sequence[Call]], RunReport]
RNG = np.random.default_rng(7)


def call(shape: tuple[int, ...], *others: np.ndarray, out: tuple[int, ...] | None = None) -> Call:
    x = RNG.standard_normal(shape).astype("<f4")
    inputs = (x, *others)
    tensors = tuple(Tensor("float32", np.asarray(a, dtype="<f4")) for a in inputs)
    return Call(str(shape), tensors, (), (OutputSpec("float32", out or shape),))


def outputs(report: RunReport) -> list[np.ndarray]:
    assert report.fault is None, report.fault
    assert report.noop_replay is not None
    assert report.noop_replay.touched_elements == 0
    assert report.noop_replay.launches > 0
    assert all(result.deterministic for result in report.results)
    return [result.outputs[0].data for result in report.results]


SCALE = """
__global__ void scale(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
extern "C" int kv_launch(const kv_args* args) {
  LAUNCH
  return (int)hipGetLastError();
}
"""


@pytest.mark.parametrize(
    "launch",
    [
        "scale<<<dim3((N + 255) / 256), dim3(256), 0, args->stream>>>(X, Y, N);",
        "hipLaunchKernelGGL(scale, dim3((N + 63) / 64), dim3(64), 0, args->stream, X, Y, N);",
    ],
)
def test_both_launch_forms(run: Run, launch: str) -> None:
    calls = [call((1,)), call((65,)), call((3, 1000))]
    for made, result in zip(
        calls, outputs(run(SCALE.replace("LAUNCH", launch), calls)), strict=True
    ):
        np.testing.assert_array_equal(result, 2 * made.inputs[0].data)


ROW_SUMS = """
__global__ void lds_tree(const float* x, float* y, int64_t columns) {
  __shared__ float part[256];
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < columns; i += 256) sum += x[blockIdx.x * columns + i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 128; step > 0; step >>= 1) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
__global__ void shuffles(const float* x, float* y, int64_t columns) {
  __shared__ float part[4];
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < columns; i += 256) sum += x[blockIdx.x * columns + i];
  for (int step = warpSize / 2; step > 0; step >>= 1) sum += __shfl_down(sum, step);
  if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = sum;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
__global__ void dynamic(const float* x, float* y, int64_t columns) {
  extern __shared__ float part[];
  part[threadIdx.x] = threadIdx.x < columns ? x[blockIdx.x * columns + threadIdx.x] : 0.0f;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int i = 0; i < blockDim.x; ++i) sum += part[i];
    y[blockIdx.x] = sum;
  }
}
__global__ void atomics(const float* x, float* y, int64_t columns) {
  if (threadIdx.x < columns) atomicAdd(&y[blockIdx.x], x[blockIdx.x * columns + threadIdx.x]);
}
extern "C" int kv_launch(const kv_args* args) {
  int64_t columns = args->inputs[0].shape[1];
  LAUNCH
  return (int)hipGetLastError();
}
"""


@pytest.mark.parametrize(
    "launch",
    [
        "lds_tree<<<dim3(N), dim3(256), 0, args->stream>>>(X, Y, columns);",
        "shuffles<<<dim3(N), dim3(256), 0, args->stream>>>(X, Y, columns);",
        "dynamic<<<dim3(N), dim3(320), 320 * sizeof(float), args->stream>>>(X, Y, columns);",
        "(void)hipMemsetAsync(Y, 0, N * sizeof(float), args->stream);"
        "atomics<<<dim3(N), dim3(320), 0, args->stream>>>(X, Y, columns);",
    ],
)
def test_reductions(run: Run, launch: str) -> None:
    calls = [call((5, 300), out=(5,)), call((1, 1), out=(1,)), call((3, 65), out=(3,))]
    results = outputs(run(ROW_SUMS.replace("LAUNCH", launch), calls))
    for made, result in zip(calls, results, strict=True):
        expected = made.inputs[0].data.astype(np.float64).sum(1)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


MATMUL = """
template <int T>
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[T][T + 1], bs[T][T + 1];
  int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += T) {
    bool a_in = row < m && k0 + threadIdx.x < k, b_in = column < n && k0 + threadIdx.y < k;
    as[threadIdx.y][threadIdx.x] = a_in ? a[row * k + k0 + threadIdx.x] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = b_in ? b[(k0 + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < T; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
extern "C" int kv_launch(const kv_args* args) {
  int m = args->inputs[0].shape[0], k = args->inputs[0].shape[1], n = args->inputs[1].shape[1];
  dim3 grid((n + 15) / 16, (m + 15) / 16);
  matmul<16><<<grid, dim3(16, 16), 0, args->stream>>>(
      X, kv_data<const float>(args->inputs[1]), Y, m, n, k);
  return (int)hipGetLastError();
}
"""


def test_tiled_matmul(run: Run) -> None:
    b = RNG.standard_normal((33, 17))
    made = call((20, 33), b, out=(20, 17))
    expected = made.inputs[0].data.astype(np.float64) @ made.inputs[1].data.astype(np.float64)
    np.testing.assert_allclose(outputs(run(MATMUL, [made]))[0], expected, rtol=1e-4, atol=1e-5)


PARAMETERS = """
struct Big { int n[8]; };
struct Pair { float a; int b; };
struct Wide { double a; float b; };
struct Add { __device__ float operator()(float a, float b) const { return a + b; } };
__constant__ float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};
template <class Op>
__global__ void k(const float* x, float* y, Big big, Pair pair, Wide wide, Op op, bool flag, char c,
                  unsigned long long n, short) {
  int i = threadIdx.x;
  y[i] = op(x[i], pair.a) + big.n[7] + pair.b + (float)wide.a + wide.b + flag + c + n;
  y[i] += table[i & 3];
}
extern "C" int kv_launch(const kv_args* args) {
  Big big{{0, 0, 0, 0, 0, 0, 0, 9}};
  k<<<1, 64, 0, args->stream>>>(X, Y, big, Pair{0.5f, 3}, Wide{2.0, 0.25f}, Add{}, true, (char)7,
                                100ull, (short)1);
  return (int)hipGetLastError();
}
"""


def test_parameters_of_every_class_arrive(run: Run) -> None:
    made = call((64,))
    table = np.tile([1, 2, 3, 4], 16)
    expected = made.inputs[0].data + 0.5 + 9 + 3 + 2 + 0.25 + 1 + 7 + 100 + table
    np.testing.assert_allclose(outputs(run(PARAMETERS, [made]))[0], expected, rtol=1e-6)


VOTES = """
__global__ void k(float* y) {
  unsigned long long votes = __ballot(threadIdx.x % 3 == 0);
  int lane = threadIdx.x;
  float from_neighbour = __shfl_xor((float)lane, 1) + __shfl((float)lane, 5) + __shfl_up(lane, 2);
  y[lane] = from_neighbour + __popcll(votes) + 1000 * __any(lane == 3) + 2000 * __all(lane < 64);
}
extern "C" int kv_launch(const kv_args* args) {
  k<<<1, 64, 0, args->stream>>>(Y);
  return (int)hipGetLastError();
}
"""


def test_wave_collectives(run: Run) -> None:
    lanes = np.arange(64)
    up = np.where(lanes >= 2, lanes - 2, lanes)
    expected = (lanes ^ 1) + 5 + up + 22 + 1000 + 2000
    np.testing.assert_array_equal(outputs(run(VOTES, [call((64,))]))[0], expected)


HALF = """
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
__global__ void h(const __half* x, __half* y) {
  y[threadIdx.x] = __float2half(__half2float(x[threadIdx.x]) * 0.5f);
}
__global__ void b(const __hip_bfloat16* x, __hip_bfloat16* y) {
  y[threadIdx.x] = __float2bfloat16(__bfloat162float(x[threadIdx.x]) * 0.5f);
}
extern "C" int kv_launch(const kv_args* args) {
  const DLTensor& x = args->inputs[0];
  if (x.dtype.code == kDLBfloat)
    b<<<1, 64, 0, args->stream>>>(kv_data<const __hip_bfloat16>(x),
                                  kv_data<__hip_bfloat16>(args->outputs[0]));
  else
    h<<<1, 64, 0, args->stream>>>(kv_data<const __half>(x), kv_data<__half>(args->outputs[0]));
  return (int)hipGetLastError();
}
"""


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(run: Run, dtype: str) -> None:
    values = np.arange(64, dtype=np.float32)
    bits = values.astype("<f2") if dtype == "float16" else (values.view("<u4") >> 16).astype("<u2")
    made = Call(dtype, (Tensor(dtype, bits),), (), (OutputSpec(dtype, (64,)),))
    report = run(HALF, [made])
    assert report.fault is None, report.fault
    np.testing.assert_array_equal(report.results[0].outputs[0].as_float64(), values / 2)


WORKSPACE = """
__global__ void first(const float* x, float* w, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) w[i] = x[i] + 1.0f;
}
__global__ void second(const float* w, float* y, int64_t n, float factor) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = w[n - 1 - i] * factor;
}
extern "C" size_t kv_workspace_size(const kv_args* args) { return N * sizeof(float); }
extern "C" int kv_launch(const kv_args* args) {
  float* w = (float*)args->workspace;
  dim3 grid((N + 63) / 64);
  first<<<grid, 64, 0, args->stream>>>(X, w, N);
  double factor = args->scalars[0].value.f64 * args->scalars[1].value.i64;
  second<<<grid, 64, 0, args->stream>>>(w, Y, N, args->scalars[2].value.b ? factor : 0.0);
  return (int)hipGetLastError();
}
"""


def test_workspace_scalars_and_two_kernels(run: Run) -> None:
    x = RNG.standard_normal(100).astype("<f4")
    made = Call("w", (Tensor("float32", x),), (0.5, 3, True), (OutputSpec("float32", (100,)),))
    np.testing.assert_allclose(outputs(run(WORKSPACE, [made]))[0], (x[::-1] + 1) * 1.5, rtol=1e-6)


MFMA = """
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
__global__ void k(const float* a, const float* b, float* d) {
  int l = threadIdx.x;
  half4 x, y;
  float4v c = {0, 0, 0, 0};
  for (int e = 0; e < 4; ++e) {
    x[e] = (_Float16)a[(l % 16) * 16 + 4 * (l / 16) + e];
    y[e] = (_Float16)b[(4 * (l / 16) + e) * 16 + l % 16];
  }
  c = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0);
  for (int r = 0; r < 4; ++r) d[(4 * (l / 16) + r) * 16 + l % 16] = c[r];
}
extern "C" int kv_launch(const kv_args* args) {
  k<<<1, 64, 0, args->stream>>>(X, kv_data<const float>(args->inputs[1]), Y);
  return (int)hipGetLastError();
}
"""


def test_mfma(run: Run) -> None:
    a, b = (RNG.integers(-4, 5, (16, 16)).astype("<f4") for _ in range(2))
    tensors = (Tensor("float32", a), Tensor("float32", b))
    made = Call("mfma", tensors, (), (OutputSpec("float32", (16, 16)),))
    np.testing.assert_array_equal(outputs(run(MFMA, [made]))[0], a @ b)
