// One 16x16x16 half matrix product per wave, staged through LDS.
#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using float4_ = __attribute__((ext_vector_type(4))) float;

__global__ __launch_bounds__(64) void tile(const half4* a, const half4* b, float4_* c) {
  __shared__ half4 staged[64];
  staged[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  float4_ sum = {0.0f, 0.0f, 0.0f, 0.0f};
  sum = __builtin_amdgcn_mfma_f32_16x16x16f16(staged[63 - threadIdx.x], b[threadIdx.x], sum, 0, 0, 0);
  c[threadIdx.x] = sum;
}

extern "C" int kv_launch(const kv_args* args) {
  tile<<<1, 64, 0, args->stream>>>(
      kv_data<const half4>(args->inputs[0]), kv_data<const half4>(args->inputs[1]),
      kv_data<float4_>(args->outputs[0]));
  return (int)hipGetLastError();
}
