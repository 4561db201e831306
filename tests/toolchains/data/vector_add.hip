// y = a + b, four elements a thread.
#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>

__global__ void add(const float4* a, const float4* b, float4* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 u = a[i];
  float4 v = b[i];
  y[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}

extern "C" size_t kv_workspace_size(const kv_args* args) {
  return 0;
}

extern "C" int kv_launch(const kv_args* args) {
  int64_t n = args->outputs[0].shape[0] / 4;
  add<<<dim3((n + 255) / 256), dim3(256), 0, args->stream>>>(
      kv_data<const float4>(args->inputs[0]), kv_data<const float4>(args->inputs[1]),
      kv_data<float4>(args->outputs[0]), n);
  return (int)hipGetLastError();
}
