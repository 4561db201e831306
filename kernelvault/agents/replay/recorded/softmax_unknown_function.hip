// Recorded answer, wrong on purpose: __shfl_reduce_max does not exist.
#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>

__global__ void softmax(const float* x, float* y, int64_t columns) {
  const float* in = x + blockIdx.x * columns;
  float top = -INFINITY;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) top = fmaxf(top, in[i]);
  top = __shfl_reduce_max(top);
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    y[blockIdx.x * columns + i] = expf(in[i] - top);
  }
}

extern "C" int kv_launch(const kv_args* args) {
  const DLTensor& x = args->inputs[0];
  int64_t columns = x.shape[x.ndim - 1], rows = 1;
  for (int d = 0; d + 1 < x.ndim; ++d) rows *= x.shape[d];
  softmax<<<dim3(rows), dim3(64), 0, args->stream>>>(
      kv_data<const float>(x), kv_data<float>(args->outputs[0]), columns);
  return (int)hipGetLastError();
}
