// The HIP device API over the emulator's runtime (kv_* functions live in the runner).
#pragma once

struct uint3 {
  unsigned x, y, z;
};

extern "C" {
extern __device__ uint3 kv_thread_idx, kv_block_idx, kv_block_dim, kv_grid_dim;
// The site identifies a barrier or collective, so that lanes that diverged meet their own kind.
__device__ void kv_barrier(unsigned site) __attribute__((convergent));
__device__ uint64_t kv_shuffle(uint64_t value, int source_lane, unsigned site)
    __attribute__((convergent));
__device__ uint64_t kv_ballot(int predicate, unsigned site) __attribute__((convergent));
__device__ int kv_lane(void);
__device__ void kv_mfma_exchange(const void* mine, const void** all, unsigned site)
    __attribute__((convergent));
__device__ void kv_mfma_done(unsigned site) __attribute__((convergent));
__device__ void kv_trap(const char* message);
}

#define threadIdx kv_thread_idx
#define blockIdx kv_block_idx
#define blockDim kv_block_dim
#define gridDim kv_grid_dim
#define hipThreadIdx_x kv_thread_idx.x
#define hipThreadIdx_y kv_thread_idx.y
#define hipThreadIdx_z kv_thread_idx.z
#define hipBlockIdx_x kv_block_idx.x
#define hipBlockIdx_y kv_block_idx.y
#define hipBlockIdx_z kv_block_idx.z
#define hipBlockDim_x kv_block_dim.x
#define hipBlockDim_y kv_block_dim.y
#define hipBlockDim_z kv_block_dim.z
#define hipGridDim_x kv_grid_dim.x
#define hipGridDim_y kv_grid_dim.y
#define hipGridDim_z kv_grid_dim.z

// As in HIP 7, the wave size is no constant expression.
struct kv_wave_size {
  __host__ __device__ operator int() const { return 64; }
};
static const __device__ kv_wave_size kv_the_wave_size = {};
#define warpSize ((int)kv_wave_size())

#define KV_DEVICE static __device__ inline __attribute__((always_inline))
#define KV_SITE unsigned site = __builtin_LINE()

KV_DEVICE void __syncthreads(KV_SITE) { kv_barrier(site); }
KV_DEVICE void __syncwarp(unsigned long long = ~0ull) {}
KV_DEVICE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KV_DEVICE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KV_DEVICE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KV_DEVICE unsigned __lane_id() { return (unsigned)kv_lane(); }

// ---------------------------------------------------------------- wave shuffles and votes
template <typename T>
KV_DEVICE T kv_shuffle_any(T value, int lane, unsigned site) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = kv_shuffle(bits, lane & 63, site);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T>
KV_DEVICE T __shfl(T value, int source, int width = 64, KV_SITE) {
  int lane = kv_lane();
  return kv_shuffle_any(value, (lane & ~(width - 1)) + (source & (width - 1)), site);
}
template <typename T>
KV_DEVICE T __shfl_xor(T value, int mask, int width = 64, KV_SITE) {
  int lane = kv_lane(), other = lane ^ mask;
  return kv_shuffle_any(value, other >= (lane & ~(width - 1)) + width ? lane : other, site);
}
template <typename T>
KV_DEVICE T __shfl_down(T value, unsigned delta, int width = 64, KV_SITE) {
  int lane = kv_lane();
  bool inside = (lane & (width - 1)) + (int)delta < width;
  return kv_shuffle_any(value, inside ? lane + (int)delta : lane, site);
}
template <typename T>
KV_DEVICE T __shfl_up(T value, unsigned delta, int width = 64, KV_SITE) {
  int lane = kv_lane();
  bool inside = (lane & (width - 1)) >= (int)delta;
  return kv_shuffle_any(value, inside ? lane - (int)delta : lane, site);
}
template <typename M, typename T>
KV_DEVICE T __shfl_sync(M, T value, int source, int width = 64, KV_SITE) {
  static_assert(sizeof(M) == 8, "the mask of a wave of 64 lanes has 64 bits");
  return __shfl(value, source, width, site);
}
template <typename M, typename T>
KV_DEVICE T __shfl_xor_sync(M, T value, int mask, int width = 64, KV_SITE) {
  static_assert(sizeof(M) == 8, "the mask of a wave of 64 lanes has 64 bits");
  return __shfl_xor(value, mask, width, site);
}
template <typename M, typename T>
KV_DEVICE T __shfl_down_sync(M, T value, unsigned delta, int width = 64, KV_SITE) {
  static_assert(sizeof(M) == 8, "the mask of a wave of 64 lanes has 64 bits");
  return __shfl_down(value, delta, width, site);
}
template <typename M, typename T>
KV_DEVICE T __shfl_up_sync(M, T value, unsigned delta, int width = 64, KV_SITE) {
  static_assert(sizeof(M) == 8, "the mask of a wave of 64 lanes has 64 bits");
  return __shfl_up(value, delta, width, site);
}
KV_DEVICE unsigned long long __ballot(int predicate, KV_SITE) { return kv_ballot(predicate, site); }
KV_DEVICE int __any(int predicate, KV_SITE) { return kv_ballot(predicate, site) != 0; }
KV_DEVICE int __all(int predicate, KV_SITE) { return kv_ballot(!predicate, site) == 0; }
KV_DEVICE unsigned long long __activemask(KV_SITE) { return kv_ballot(1, site); }

// ---------------------------------------------------------------- bits
KV_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
KV_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KV_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
KV_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
KV_DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
KV_DEVICE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
KV_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
template <typename To, typename From>
KV_DEVICE To kv_bits(From from) {
  return __builtin_bit_cast(To, from);
}
KV_DEVICE int __float_as_int(float x) { return kv_bits<int>(x); }
KV_DEVICE float __int_as_float(int x) { return kv_bits<float>(x); }
KV_DEVICE unsigned __float_as_uint(float x) { return kv_bits<unsigned>(x); }
KV_DEVICE float __uint_as_float(unsigned x) { return kv_bits<float>(x); }
KV_DEVICE long long __double_as_longlong(double x) { return kv_bits<long long>(x); }
KV_DEVICE double __longlong_as_double(long long x) { return kv_bits<double>(x); }

// ---------------------------------------------------------------- mathematics beyond <math.h>
// Macros, because the C library declares internal functions of the same names.
#define __expf(x) expf(x)
#define __exp10f(x) powf(10.0f, x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
KV_DEVICE float __fdividef(float x, float y) { return x / y; }
KV_DEVICE float __fdiv_rn(float x, float y) { return x / y; }
KV_DEVICE float __frcp_rn(float x) { return 1.0f / x; }
KV_DEVICE float __fsqrt_rn(float x) { return sqrtf(x); }
KV_DEVICE float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
KV_DEVICE float __fmul_rn(float x, float y) { return x * y; }
KV_DEVICE float __fadd_rn(float x, float y) { return x + y; }
KV_DEVICE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
KV_DEVICE double rsqrt(double x) { return 1.0 / sqrt(x); }
KV_DEVICE float rsqrt(float x) { return 1.0f / sqrtf(x); }
KV_DEVICE float __saturatef(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }
KV_DEVICE float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752f); }
KV_DEVICE int __float2int_rn(float x) { return (int)rintf(x); }
KV_DEVICE int __float2int_rz(float x) { return (int)x; }
KV_DEVICE float __int2float_rn(int x) { return (float)x; }
KV_DEVICE int __mul24(int x, int y) { return x * y; }
KV_DEVICE unsigned __umulhi(unsigned x, unsigned y) {
  return (unsigned)(((unsigned long long)x * y) >> 32);
}
KV_DEVICE int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
// HIP has these names in the global namespace for every arithmetic type.
template <typename A, typename B, typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
__host__ __device__ inline std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) return (T)fmax((T)a, (T)b);
  else return (T)a < (T)b ? (T)b : (T)a;
}
template <typename A, typename B, typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
__host__ __device__ inline std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) return (T)fmin((T)a, (T)b);
  else return (T)b < (T)a ? (T)b : (T)a;
}
template <typename T>
KV_DEVICE T __ldg(const T* pointer) {
  return *pointer;
}
KV_DEVICE long long clock64() { return 0; }
KV_DEVICE long long wall_clock64() { return 0; }

#include <hip/kv_atomics.h>
#include <hip/kv_vector_types.h>
#include <hip/kv_amdgcn.h>
