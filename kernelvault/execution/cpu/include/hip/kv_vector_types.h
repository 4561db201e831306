// Vector types with HIP's names, sizes and alignments.
#pragma once

#define KV_BOTH __host__ __device__ inline

#define KV_VECTOR_TYPES(T, N)                                                                     \
  struct alignas(sizeof(T)) N##1 {                                                                \
    T x;                                                                                          \
  };                                                                                              \
  struct alignas(2 * sizeof(T)) N##2 {                                                            \
    T x, y;                                                                                       \
  };                                                                                              \
  struct N##3 {                                                                                   \
    T x, y, z;                                                                                    \
  };                                                                                              \
  struct alignas(4 * sizeof(T)) N##4 {                                                            \
    T x, y, z, w;                                                                                 \
  };                                                                                              \
  KV_BOTH N##1 make_##N##1(T x) { return {x}; }                                                   \
  KV_BOTH N##2 make_##N##2(T x, T y) { return {x, y}; }                                           \
  KV_BOTH N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                                   \
  KV_BOTH N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }                           \
  KV_VECTOR_OPERATOR(N, +)                                                                        \
  KV_VECTOR_OPERATOR(N, -)                                                                        \
  KV_VECTOR_OPERATOR(N, *)                                                                        \
  KV_VECTOR_OPERATOR(N, /)

#define KV_VECTOR_OPERATOR(N, OP)                                                                 \
  KV_BOTH N##2 operator OP(N##2 a, N##2 b) {                                                      \
    return {(decltype(a.x))(a.x OP b.x), (decltype(a.x))(a.y OP b.y)};                            \
  }                                                                                               \
  KV_BOTH N##4 operator OP(N##4 a, N##4 b) {                                                      \
    return {(decltype(a.x))(a.x OP b.x), (decltype(a.x))(a.y OP b.y), (decltype(a.x))(a.z OP b.z), \
            (decltype(a.x))(a.w OP b.w)};                                                         \
  }                                                                                               \
  KV_BOTH N##2& operator OP##=(N##2 & a, N##2 b) { return a = a OP b; }                           \
  KV_BOTH N##4& operator OP##=(N##4 & a, N##4 b) { return a = a OP b; }

KV_VECTOR_TYPES(signed char, char)
KV_VECTOR_TYPES(unsigned char, uchar)
KV_VECTOR_TYPES(short, short)
KV_VECTOR_TYPES(unsigned short, ushort)
KV_VECTOR_TYPES(int, int)
KV_VECTOR_TYPES(long, long)
KV_VECTOR_TYPES(unsigned long, ulong)
KV_VECTOR_TYPES(long long, longlong)
KV_VECTOR_TYPES(unsigned long long, ulonglong)
KV_VECTOR_TYPES(float, float)
KV_VECTOR_TYPES(double, double)

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
KV_BOTH uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
KV_BOTH uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
KV_BOTH uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
