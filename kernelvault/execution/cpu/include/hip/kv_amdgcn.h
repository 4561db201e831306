// The amdgcn builtins that candidates use most. Others do not compile in this pass and are refused by
// their name.
#pragma once

typedef _Float16 kv_half4 __attribute__((ext_vector_type(4)));
typedef float kv_float4v __attribute__((ext_vector_type(4)));

// D = A B + C for 16x16x16: lane l holds row l%16 of A and column l%16 of B at k = 4*(l/16)+e, and of
// D the rows 4*(l/16)+r of column l%16.
KV_DEVICE kv_float4v kv_mfma_16x16x16_f16(kv_half4 a, kv_half4 b, kv_float4v c, unsigned site) {
  struct Operands {
    kv_half4 a, b;
  } mine = {a, b};
  const void* all[64];
  kv_mfma_exchange(&mine, all, site);
  int lane = kv_lane();
  kv_float4v d = c;
  for (int r = 0; r < 4; ++r) {
    for (int k = 0; k < 16; ++k) {
      const Operands* row = (const Operands*)all[4 * (lane / 16) + r + 16 * (k / 4)];
      const Operands* column = (const Operands*)all[lane % 16 + 16 * (k / 4)];
      d[r] += (float)row->a[k % 4] * (float)column->b[k % 4];
    }
  }
  kv_mfma_done(site);
  return d;
}
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, x, y, z) \
  kv_mfma_16x16x16_f16((a), (b), (c), __LINE__)
#define __builtin_amdgcn_readfirstlane(v) __shfl((int)(v), 0)
#define __builtin_amdgcn_s_barrier() __syncthreads()
#define __builtin_amdgcn_sched_barrier(mask) ((void)0)
#define __builtin_amdgcn_wavefrontsize() 64
