// Recorded answer, wrong on purpose: a semicolon is missing, so no target compiles it.
#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>

__global__ void gelu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f))
}

extern "C" int kv_launch(const kv_args* args) {
  const DLTensor& x = args->inputs[0];
  int64_t n = 1;
  for (int d = 0; d < x.ndim; ++d) n *= x.shape[d];
  gelu<<<dim3((n + 255) / 256), dim3(256), 0, args->stream>>>(
      kv_data<const float>(x), kv_data<float>(args->outputs[0]), n);
  return (int)hipGetLastError();
}
