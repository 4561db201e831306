// Recorded answer, wrong on purpose: the tanh approximation where the problem asks for the exact GELU.
#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>

__global__ void gelu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

extern "C" int kv_launch(const kv_args* args) {
  const DLTensor& x = args->inputs[0];
  int64_t n = 1;
  for (int d = 0; d < x.ndim; ++d) n *= x.shape[d];
  gelu<<<dim3((n + 255) / 256), dim3(256), 0, args->stream>>>(
      kv_data<const float>(x), kv_data<float>(args->outputs[0]), n);
  return (int)hipGetLastError();
}
