// HIP for the emulated device pass: device code compiled for the host CPU, one fiber per work-item.
//
// Only the device half of a candidate is emitted in this pass; its host half is parsed here but comes
// from the real HIP headers in a pass of its own. A wave has 64 lanes.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...)
#define __managed__ __attribute__((managed))
#define __HIP_PLATFORM_AMD__ 1
#define __HIP__ 1
#define HIP_VERSION_MAJOR 7
#define HIP_VERSION_MINOR 1
#define HIP_VERSION 70100000
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_SYMBOL(x) x

// The allocation functions have host and device overloads of their own and stay outside.
#include <new>

// Everything else the standard library offers may be called from device code here.
#pragma clang force_cuda_host_device begin
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>
#pragma clang force_cuda_host_device end

// After the standard headers, which spell attributes __noinline__.
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

#include <hip/kv_host_api.h>
#include <hip/kv_device_api.h>
