// 16-bit floats for HIP, over the compiler's `_Float16`. Plain C++: it compiles for AMD GPUs, for
// the host, and for a host that stands in for the device.
#ifndef KERNELVAULT_HIP_FP16_H
#define KERNELVAULT_HIP_FP16_H

#include <hip/hip_runtime.h>
#include <string.h>

#define KV_HD __host__ __device__ inline

struct __half {
  _Float16 data;

  __half() = default;
  KV_HD constexpr __half(_Float16 value) : data(value) {}
  KV_HD constexpr __half(float value) : data(static_cast<_Float16>(value)) {}
  KV_HD constexpr __half(double value) : data(static_cast<_Float16>(value)) {}
  KV_HD constexpr __half(int value) : data(static_cast<_Float16>(value)) {}
  KV_HD constexpr __half(unsigned value) : data(static_cast<_Float16>(value)) {}
  KV_HD constexpr __half(long value) : data(static_cast<_Float16>(value)) {}
  KV_HD constexpr __half(long long value) : data(static_cast<_Float16>(value)) {}
  KV_HD constexpr operator float() const { return static_cast<float>(data); }
  KV_HD constexpr explicit operator _Float16() const { return data; }
  KV_HD constexpr explicit operator double() const { return static_cast<double>(data); }
  KV_HD constexpr explicit operator int() const { return static_cast<int>(data); }
  KV_HD constexpr explicit operator bool() const { return data != static_cast<_Float16>(0); }
};
using half = __half;

struct alignas(4) __half2 {
  __half x;
  __half y;

  __half2() = default;
  KV_HD constexpr __half2(__half low, __half high) : x(low), y(high) {}
};
using half2 = __half2;
using __half_raw = __half;
using __half2_raw = __half2;

// Arithmetic and comparison of one value, then lane by lane of a pair.
#define KV_ARITHMETIC(op, name)                                                             \
  KV_HD __half operator op(__half a, __half b) {                                            \
    return __half(static_cast<_Float16>(a.data op b.data));                                 \
  }                                                                                         \
  KV_HD __half& operator op##=(__half & a, __half b) { return a = a op b; }                 \
  KV_HD __half name(__half a, __half b) { return a op b; }                                  \
  KV_HD __half2 operator op(__half2 a, __half2 b) { return __half2(a.x op b.x, a.y op b.y); } \
  KV_HD __half2& operator op##=(__half2 & a, __half2 b) { return a = a op b; }              \
  KV_HD __half2 name##2(__half2 a, __half2 b) { return a op b; }
KV_ARITHMETIC(+, __hadd)
KV_ARITHMETIC(-, __hsub)
KV_ARITHMETIC(*, __hmul)
KV_ARITHMETIC(/, __hdiv)
#undef KV_ARITHMETIC
KV_HD __half2 __h2div(__half2 a, __half2 b) { return a / b; }

#define KV_COMPARISON(op, name)                                                     \
  KV_HD bool operator op(__half a, __half b) { return a.data op b.data; }           \
  KV_HD bool __h##name(__half a, __half b) { return a op b; }                            \
  KV_HD __half2 __h##name##2(__half2 a, __half2 b) {                                     \
    return __half2(__half(a.x op b.x ? 1.0f : 0.0f), __half(a.y op b.y ? 1.0f : 0.0f)); \
  }                                                                                 \
  KV_HD bool __hb##name##2(__half2 a, __half2 b) { return (a.x op b.x) && (a.y op b.y); }
KV_COMPARISON(==, eq)
KV_COMPARISON(!=, ne)
KV_COMPARISON(<, lt)
KV_COMPARISON(<=, le)
KV_COMPARISON(>, gt)
KV_COMPARISON(>=, ge)
#undef KV_COMPARISON

KV_HD __half operator-(__half a) { return __half(static_cast<_Float16>(-a.data)); }
KV_HD __half2 operator-(__half2 a) { return __half2(-a.x, -a.y); }
KV_HD __half operator+(__half a) { return a; }
KV_HD __half __hneg(__half a) { return -a; }
KV_HD __half2 __hneg2(__half2 a) { return -a; }
KV_HD __half __habs(__half a) { return __half(static_cast<_Float16>(__builtin_fabsf(a))); }
KV_HD __half2 __habs2(__half2 a) { return __half2(__habs(a.x), __habs(a.y)); }
KV_HD bool __hisnan(__half a) { return a.data != a.data; }
KV_HD int __hisinf(__half a) {
  float value = a;
  return __builtin_isinf(value) ? (value > 0 ? 1 : -1) : 0;
}
KV_HD __half __hmax(__half a, __half b) { return __hisnan(a) || b > a ? b : a; }
KV_HD __half __hmin(__half a, __half b) { return __hisnan(a) || b < a ? b : a; }
KV_HD __half2 __hmax2(__half2 a, __half2 b) { return __half2(__hmax(a.x, b.x), __hmax(a.y, b.y)); }
KV_HD __half2 __hmin2(__half2 a, __half2 b) { return __half2(__hmin(a.x, b.x), __hmin(a.y, b.y)); }
// One rounding: a product of two halves is exact in double, and so is nearly every sum with it.
KV_HD __half __hfma(__half a, __half b, __half c) {
#if defined(__AMDGCN__)
  return __half(__builtin_fmaf16(a.data, b.data, c.data));
#else
  return __half(static_cast<_Float16>(double(a) * double(b) + double(c)));
#endif
}
KV_HD __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}

// Conversions.
KV_HD __half __float2half(float a) { return __half(a); }
KV_HD __half __float2half_rn(float a) { return __half(a); }
KV_HD __half __double2half(double a) { return __half(a); }
KV_HD float __half2float(__half a) { return a; }
KV_HD __half __int2half_rn(int a) { return __half(a); }
KV_HD __half __uint2half_rn(unsigned a) { return __half(a); }
KV_HD __half __ll2half_rn(long long a) { return __half(a); }
KV_HD int __half2int_rz(__half a) { return static_cast<int>(a.data); }
KV_HD int __half2int_rn(__half a) { return static_cast<int>(__builtin_rintf(a)); }
KV_HD unsigned __half2uint_rz(__half a) { return static_cast<unsigned>(a.data); }
KV_HD __half __ushort_as_half(unsigned short bits) { return __builtin_bit_cast(__half, bits); }
KV_HD __half __short_as_half(short bits) { return __builtin_bit_cast(__half, bits); }
KV_HD unsigned short __half_as_ushort(__half a) { return __builtin_bit_cast(unsigned short, a); }
KV_HD short __half_as_short(__half a) { return __builtin_bit_cast(short, a); }

// Pairs.
KV_HD __half2 make_half2(__half low, __half high) { return __half2(low, high); }
KV_HD __half2 __halves2half2(__half low, __half high) { return __half2(low, high); }
KV_HD __half2 __half2half2(__half a) { return __half2(a, a); }
KV_HD __half2 __float2half2_rn(float a) { return __half2(__half(a), __half(a)); }
KV_HD __half2 __floats2half2_rn(float a, float b) { return __half2(__half(a), __half(b)); }
KV_HD __half2 __float22half2_rn(float2 a) { return __half2(__half(a.x), __half(a.y)); }
KV_HD float2 __half22float2(__half2 a) { return make_float2(float(a.x), float(a.y)); }
KV_HD __half __low2half(__half2 a) { return a.x; }
KV_HD __half __high2half(__half2 a) { return a.y; }
KV_HD float __low2float(__half2 a) { return a.x; }
KV_HD float __high2float(__half2 a) { return a.y; }
KV_HD __half2 __low2half2(__half2 a) { return __half2(a.x, a.x); }
KV_HD __half2 __high2half2(__half2 a) { return __half2(a.y, a.y); }
KV_HD __half2 __lowhigh2highlow(__half2 a) { return __half2(a.y, a.x); }

// Mathematics: computed in float, rounded once more to 16 bits.
#define KV_MATH(name, expression)                                 \
  KV_HD __half h##name(__half a) {                                \
    float v = a;                                                  \
    return __half(expression);                                    \
  }                                                               \
  KV_HD __half2 h2##name(__half2 a) { return __half2(h##name(a.x), h##name(a.y)); }
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

#define KV_SHUFFLE(name, index_type)                                              \
  __device__ inline __half name(__half value, index_type at, int width = warpSize) { \
    int bits = __half_as_ushort(value);                                           \
    return __ushort_as_half(static_cast<unsigned short>(name(bits, at, width)));  \
  }                                                                               \
  __device__ inline __half2 name(__half2 value, index_type at, int width = warpSize) { \
    return __builtin_bit_cast(__half2, name(__builtin_bit_cast(int, value), at, width)); \
  }
KV_SHUFFLE(__shfl, int)
KV_SHUFFLE(__shfl_xor, int)
KV_SHUFFLE(__shfl_up, unsigned)
KV_SHUFFLE(__shfl_down, unsigned)
#undef KV_SHUFFLE

__device__ inline __half __ldg(const __half* p) { return *p; }
__device__ inline __half2 __ldg(const __half2* p) { return *p; }

#undef KV_HD
#endif
