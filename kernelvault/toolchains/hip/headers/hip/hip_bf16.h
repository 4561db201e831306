// Brain floats for HIP, over the compiler's `__bf16`. Plain C++: it compiles for AMD GPUs, for
// the host, and for a host that stands in for the device.
#ifndef KERNELVAULT_HIP_BF16_H
#define KERNELVAULT_HIP_BF16_H

#include <hip/hip_runtime.h>
#include <string.h>

#define KV_HD __host__ __device__ inline

struct __hip_bfloat16 {
  __bf16 data;

  __hip_bfloat16() = default;
  KV_HD constexpr __hip_bfloat16(__bf16 value) : data(value) {}
  KV_HD constexpr __hip_bfloat16(float value) : data(static_cast<__bf16>(value)) {}
  KV_HD constexpr __hip_bfloat16(double value) : data(static_cast<__bf16>(value)) {}
  KV_HD constexpr __hip_bfloat16(int value) : data(static_cast<__bf16>(value)) {}
  KV_HD constexpr __hip_bfloat16(unsigned value) : data(static_cast<__bf16>(value)) {}
  KV_HD constexpr __hip_bfloat16(long value) : data(static_cast<__bf16>(value)) {}
  KV_HD constexpr __hip_bfloat16(long long value) : data(static_cast<__bf16>(value)) {}
  KV_HD constexpr operator float() const { return static_cast<float>(data); }
  KV_HD constexpr explicit operator __bf16() const { return data; }
  KV_HD constexpr explicit operator double() const { return static_cast<double>(data); }
  KV_HD constexpr explicit operator int() const { return static_cast<int>(data); }
  KV_HD constexpr explicit operator bool() const { return data != static_cast<__bf16>(0); }
};
using hip_bfloat16 = __hip_bfloat16;

struct alignas(4) __hip_bfloat162 {
  __hip_bfloat16 x;
  __hip_bfloat16 y;

  __hip_bfloat162() = default;
  KV_HD constexpr __hip_bfloat162(__hip_bfloat16 low, __hip_bfloat16 high) : x(low), y(high) {}
};

// Arithmetic and comparison of one value, then lane by lane of a pair.
#define KV_ARITHMETIC(op, name) \
  KV_HD __hip_bfloat16 operator op(__hip_bfloat16 a, __hip_bfloat16 b) { \
    return __hip_bfloat16(static_cast<__bf16>(a.data op b.data)); \
  } \
  KV_HD __hip_bfloat16& operator op##=(__hip_bfloat16 & a, __hip_bfloat16 b) { \
    return a = a op b; \
  } \
  KV_HD __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) { return a op b; } \
  KV_HD __hip_bfloat162 operator op(__hip_bfloat162 a, __hip_bfloat162 b) { \
    return __hip_bfloat162(a.x op b.x, a.y op b.y); \
  } \
  KV_HD __hip_bfloat162& operator op##=(__hip_bfloat162 & a, __hip_bfloat162 b) { \
    return a = a op b; \
  } \
  KV_HD __hip_bfloat162 name##2(__hip_bfloat162 a, __hip_bfloat162 b) { return a op b; }
KV_ARITHMETIC(+, __hadd)
KV_ARITHMETIC(-, __hsub)
KV_ARITHMETIC(*, __hmul)
KV_ARITHMETIC(/, __hdiv)
#undef KV_ARITHMETIC
KV_HD __hip_bfloat162 __h2div(__hip_bfloat162 a, __hip_bfloat162 b) { return a / b; }

#define KV_COMPARISON(op, name) \
  KV_HD bool operator op(__hip_bfloat16 a, __hip_bfloat16 b) { return a.data op b.data; } \
  KV_HD bool __h##name(__hip_bfloat16 a, __hip_bfloat16 b) { return a op b; } \
  KV_HD __hip_bfloat162 __h##name##2(__hip_bfloat162 a, __hip_bfloat162 b) { \
    return __hip_bfloat162(__hip_bfloat16(a.x op b.x ? 1.0f : 0.0f), \
                          __hip_bfloat16(a.y op b.y ? 1.0f : 0.0f)); \
  } \
  KV_HD bool __hb##name##2(__hip_bfloat162 a, __hip_bfloat162 b) { \
    return (a.x op b.x) && (a.y op b.y); \
  }
KV_COMPARISON(==, eq)
KV_COMPARISON(!=, ne)
KV_COMPARISON(<, lt)
KV_COMPARISON(<=, le)
KV_COMPARISON(>, gt)
KV_COMPARISON(>=, ge)
#undef KV_COMPARISON

KV_HD __hip_bfloat16 operator-(__hip_bfloat16 a) {
  return __hip_bfloat16(static_cast<__bf16>(-a.data));
}
KV_HD __hip_bfloat162 operator-(__hip_bfloat162 a) { return __hip_bfloat162(-a.x, -a.y); }
KV_HD __hip_bfloat16 operator+(__hip_bfloat16 a) { return a; }
KV_HD __hip_bfloat16 __hneg(__hip_bfloat16 a) { return -a; }
KV_HD __hip_bfloat162 __hneg2(__hip_bfloat162 a) { return -a; }
KV_HD __hip_bfloat16 __habs(__hip_bfloat16 a) {
  return __hip_bfloat16(static_cast<__bf16>(__builtin_fabsf(a)));
}
KV_HD __hip_bfloat162 __habs2(__hip_bfloat162 a) {
  return __hip_bfloat162(__habs(a.x), __habs(a.y));
}
KV_HD bool __hisnan(__hip_bfloat16 a) { return a.data != a.data; }
KV_HD int __hisinf(__hip_bfloat16 a) {
  float value = a;
  return __builtin_isinf(value) ? (value > 0 ? 1 : -1) : 0;
}
KV_HD __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __hisnan(a) || b > a ? b : a;
}
KV_HD __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __hisnan(a) || b < a ? b : a;
}
KV_HD __hip_bfloat162 __hmax2(__hip_bfloat162 a, __hip_bfloat162 b) {
  return __hip_bfloat162(__hmax(a.x, b.x), __hmax(a.y, b.y));
}
KV_HD __hip_bfloat162 __hmin2(__hip_bfloat162 a, __hip_bfloat162 b) {
  return __hip_bfloat162(__hmin(a.x, b.x), __hmin(a.y, b.y));
}
// The product is exact in float; the sum is rounded to float, then to 16 bits.
KV_HD __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __hip_bfloat16(__builtin_fmaf(float(a), float(b), float(c)));
}
KV_HD __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return __hip_bfloat162(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}

// Conversions.
KV_HD __hip_bfloat16 __float2bfloat16(float a) { return __hip_bfloat16(a); }
KV_HD __hip_bfloat16 __float2bfloat16_rn(float a) { return __hip_bfloat16(a); }
KV_HD __hip_bfloat16 __double2bfloat16(double a) { return __hip_bfloat16(a); }
KV_HD float __bfloat162float(__hip_bfloat16 a) { return a; }
KV_HD __hip_bfloat16 __int2bfloat16_rn(int a) { return __hip_bfloat16(a); }
KV_HD int __bfloat162int_rz(__hip_bfloat16 a) { return static_cast<int>(float(a)); }
KV_HD __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __builtin_bit_cast(__hip_bfloat16, bits);
}
KV_HD unsigned short __bfloat16_as_ushort(__hip_bfloat16 a) {
  return __builtin_bit_cast(unsigned short, a);
}

// Pairs.
KV_HD __hip_bfloat162 make_bfloat162(__hip_bfloat16 low, __hip_bfloat16 high) {
  return __hip_bfloat162(low, high);
}
KV_HD __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 low, __hip_bfloat16 high) {
  return __hip_bfloat162(low, high);
}
KV_HD __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return __hip_bfloat162(a, a); }
KV_HD __hip_bfloat162 __float2bfloat162_rn(float a) {
  return __hip_bfloat162(__hip_bfloat16(a), __hip_bfloat16(a));
}
KV_HD __hip_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return __hip_bfloat162(__hip_bfloat16(a), __hip_bfloat16(b));
}
KV_HD __hip_bfloat162 __float22bfloat162_rn(float2 a) {
  return __hip_bfloat162(__hip_bfloat16(a.x), __hip_bfloat16(a.y));
}
KV_HD float2 __bfloat1622float2(__hip_bfloat162 a) {
  return make_float2(float(a.x), float(a.y));
}
KV_HD __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
KV_HD __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }
KV_HD float __low2float(__hip_bfloat162 a) { return a.x; }
KV_HD float __high2float(__hip_bfloat162 a) { return a.y; }

// Mathematics: computed in float, rounded once more to 16 bits.
#define KV_MATH(name, expression) \
  KV_HD __hip_bfloat16 h##name(__hip_bfloat16 a) { \
    float v = a; \
    return __hip_bfloat16(expression); \
  } \
  KV_HD __hip_bfloat162 h2##name(__hip_bfloat162 a) { \
    return __hip_bfloat162(h##name(a.x), h##name(a.y)); \
  }
KV_MATH(exp, expf(v))
KV_MATH(exp2, exp2f(v))
KV_MATH(exp10, exp2f(v * 3.32192809488736f))
KV_MATH(log, logf(v))
KV_MATH(log2, log2f(v))
KV_MATH(log10, log10f(v))
KV_MATH(sin, sinf(v))
KV_MATH(cos, cosf(v))
KV_MATH(sqrt, sqrtf(v))
KV_MATH(rsqrt, 1.0f / sqrtf(v))
KV_MATH(rcp, 1.0f / v)
KV_MATH(floor, floorf(v))
KV_MATH(ceil, ceilf(v))
KV_MATH(rint, rintf(v))
KV_MATH(trunc, truncf(v))
#undef KV_MATH

#define KV_SHUFFLE(name, index_type) \
  __device__ inline __hip_bfloat16 name(__hip_bfloat16 value, index_type at, \
                                        int width = warpSize) { \
    int bits = __bfloat16_as_ushort(value); \
    return __ushort_as_bfloat16(static_cast<unsigned short>(name(bits, at, width))); \
  } \
  __device__ inline __hip_bfloat162 name(__hip_bfloat162 value, index_type at, \
                                         int width = warpSize) { \
    return __builtin_bit_cast(__hip_bfloat162, name(__builtin_bit_cast(int, value), at, width)); \
  }
KV_SHUFFLE(__shfl, int)
KV_SHUFFLE(__shfl_xor, int)
KV_SHUFFLE(__shfl_up, unsigned)
KV_SHUFFLE(__shfl_down, unsigned)
#undef KV_SHUFFLE

__device__ inline __hip_bfloat16 __ldg(const __hip_bfloat16* p) { return *p; }
__device__ inline __hip_bfloat162 __ldg(const __hip_bfloat162* p) { return *p; }

#undef KV_HD
#endif
