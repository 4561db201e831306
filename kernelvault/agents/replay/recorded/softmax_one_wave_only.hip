// Recorded answer, wrong on purpose: 256 work-items a row, but only the first wave's sum is used.
#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>

__global__ void softmax(const float* x, float* y, int64_t columns) {
  const float* in = x + blockIdx.x * columns;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(in[i]);
  for (int step = 32; step > 0; step /= 2) sum += __shfl_xor(sum, step);
  __shared__ float total;
  if (threadIdx.x == 0) total = sum;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    y[blockIdx.x * columns + i] = expf(in[i]) / total;
  }
}

extern "C" int kv_launch(const kv_args* args) {
  const DLTensor& x = args->inputs[0];
  int64_t columns = x.shape[x.ndim - 1], rows = 1;
  for (int d = 0; d + 1 < x.ndim; ++d) rows *= x.shape[d];
  softmax<<<dim3(rows), dim3(256), 0, args->stream>>>(
      kv_data<const float>(x), kv_data<float>(args->outputs[0]), columns);
  return (int)hipGetLastError();
}
