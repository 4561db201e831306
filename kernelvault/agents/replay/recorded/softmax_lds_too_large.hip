// Recorded answer, wrong on purpose: 96 KiB of LDS is more than a gfx942 work-group may have.
#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>

__global__ void softmax(const float* x, float* y, int64_t columns) {
  __shared__ float row[24576];
  const float* in = x + blockIdx.x * columns;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) row[i] = in[i];
  __syncthreads();
  float top = row[0];
  for (int64_t i = 1; i < columns; ++i) top = fmaxf(top, row[i]);
  float sum = 0.0f;
  for (int64_t i = 0; i < columns; ++i) sum += expf(row[i] - top);
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    y[blockIdx.x * columns + i] = expf(row[i] - top) / sum;
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
