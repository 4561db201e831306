// The HIP runtime a candidate's host library is loaded against. Work is done at once and in order:
// there is one stream. What a candidate may not do on its own is refused by name.
#pragma once

#define __HIP_PLATFORM_AMD__ 1
#include <cxxabi.h>
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>

#include <map>
#include <string>

#include "fibers.hpp"
#include "memory.hpp"

namespace kv {

constexpr size_t kLdsLimit = 65536;
constexpr size_t kLdsBuffer = 163840 + 4096;  // as in thunks.py
constexpr unsigned kMaxThreads = 1024;

struct Kernel {
  std::string name;
  Body thunk;
  size_t static_lds;
};

struct Configuration {
  dim3 grid{1, 1, 1}, block{1, 1, 1};
  size_t lds_bytes = 0;
  hipStream_t stream = nullptr;
};

inline void* device_library = nullptr;
inline std::map<const void*, Kernel> kernels;
inline std::vector<Configuration> pending;
inline hipError_t last_error = hipSuccess;
inline hipStream_t the_stream = nullptr;
inline bool noop_replay = false;
inline unsigned long long launches = 0, work_items = 0, lds_bytes_max = 0;

inline void check_stream(hipStream_t stream) {
  if (stream && stream != the_stream) fault("unsupported", "work on a stream other than kv_args.stream");
}

inline std::string shape(dim3 d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

inline void check_configuration(const Kernel& kernel, const Configuration& c) {
  unsigned long long threads = 1ull * c.block.x * c.block.y * c.block.z;
  const char* name = kernel.name.c_str();
  if (threads == 0 || threads > kMaxThreads)
    fault("launch_error", "kernel %s: a block of %s has %llu work-items, 1 to %u are possible", name,
          shape(c.block).c_str(), threads, kMaxThreads);
  if (!c.grid.x || !c.grid.y || !c.grid.z || c.grid.x > 0x7fffffffu || c.grid.y > 65536 || c.grid.z > 65536)
    fault("launch_error", "kernel %s: a grid of %s is not possible", name, shape(c.grid).c_str());
  if (c.lds_bytes + kernel.static_lds > kLdsLimit)
    fault("launch_error", "kernel %s: %zu bytes of static and %zu of dynamic LDS, a work-group has %zu", name,
          kernel.static_lds, c.lds_bytes, kLdsLimit);
}

struct Lds {
  char* static_begin;
  char* static_end;
  char* dynamic;
};

inline size_t dynamic_pages(size_t dynamic_bytes) { return round_up(dynamic_bytes, kPage); }

// Uninitialised LDS reads as NaN. Dynamic LDS ends in canaries up to its page's end; the pages behind
// are inaccessible, all of them where a launch gave none.
inline void poison_lds(const Lds& lds, size_t dynamic_bytes) {
  if (lds.static_begin) memset(lds.static_begin, 0xff, lds.static_end - lds.static_begin);
  memset(lds.dynamic, 0xff, dynamic_bytes);
  memset(lds.dynamic + dynamic_bytes, kCanary, dynamic_pages(dynamic_bytes) - dynamic_bytes);
}

inline void protect_lds(const Lds& lds, size_t dynamic_bytes) {
  size_t open = dynamic_pages(dynamic_bytes);
  mprotect(lds.dynamic, kLdsBuffer, PROT_NONE);
  mprotect(lds.dynamic, open, PROT_READ | PROT_WRITE);
}

inline void check_lds(const Kernel& kernel, const Lds& lds, size_t dynamic_bytes) {
  for (size_t i = dynamic_bytes; i < dynamic_pages(dynamic_bytes); ++i)
    if ((unsigned char)lds.dynamic[i] != kCanary)
      fault("out_of_bounds", "kernel %s writes dynamic LDS %zu bytes past the %zu it was launched with",
            kernel.name.c_str(), i - dynamic_bytes + 1, dynamic_bytes);
}

inline Lds find_lds() {
  auto pointer = [](const char* name) {
    void** symbol = (void**)dlsym(device_library, name);
    return symbol ? (char*)*symbol : nullptr;
  };
  return {pointer("kv_lds_begin"), pointer("kv_lds_end"), (char*)dlsym(device_library, "kv_dynamic_lds")};
}

inline const Kernel* current_kernel = nullptr;
inline Lds current_lds{};
inline size_t current_lds_bytes = 0;

inline void run_grid(const Kernel& kernel, const Configuration& c, void** arguments) {
  kv_grid_dim = {c.grid.x, c.grid.y, c.grid.z};
  kv_block_dim = {c.block.x, c.block.y, c.block.z};
  Lds lds = current_lds = find_lds();
  current_lds_bytes = c.lds_bytes;
  current_kernel = &kernel;
  protect_lds(lds, c.lds_bytes);
  protect_all(true);
  in_kernel = true;
  for (unsigned z = 0; z < c.grid.z; ++z)
    for (unsigned y = 0; y < c.grid.y; ++y)
      for (unsigned x = 0; x < c.grid.x; ++x) {
        kv_block_idx = {x, y, z};
        poison_lds(lds, c.lds_bytes);
        run_block(kernel.thunk, arguments);
        check_lds(kernel, lds, c.lds_bytes);
      }
  in_kernel = false;
  protect_all(false);
}

inline hipError_t fail(hipError_t error) { return last_error = error; }

// memset and device-to-device copies are the device's work: counted, and no-ops in the replay.
template <typename F>
inline hipError_t device_work(void* to, size_t bytes, hipStream_t stream, F work) {
  check_stream(stream);
  const Region* region = region_of(to);
  if (!region || (char*)to < region->data || (char*)to + bytes > region->data + region->bytes)
    fault("out_of_bounds", "a memset or copy of %zu bytes does not lie inside one tensor", bytes);
  if (!region->writable) fault("input_modified", "a memset or copy writes %s", region->name.c_str());
  ++launches;
  if (noop_replay) return hipSuccess;
  protect_all(true);
  work();
  protect_all(false);
  return hipSuccess;
}

}  // namespace kv

extern "C" {
using namespace kv;

void** __hipRegisterFatBinary(const void*) {
  static void* handle = nullptr;
  return &handle;
}
void __hipUnregisterFatBinary(void**) {}
void __hipRegisterVar(void**, void*, char*, char*, int, size_t, int, int) {}
void __hipRegisterFunction(void**, const void* host, char*, const char* name, unsigned, void*, void*, void*, void*,
                           int*) {
  auto thunk = (Body)dlsym(device_library, (std::string("kv_thunk_") + name).c_str());
  auto lds_size = (size_t(*)())dlsym(device_library, (std::string("kv_static_lds_") + name).c_str());
  int status = 0;
  char* readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  kernels[host] = {status == 0 ? readable : name, thunk, lds_size ? lds_size() : 0};
  free(readable);
}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds_bytes, hipStream_t stream) {
  pending.push_back({grid, block, lds_bytes, stream});
  return hipSuccess;
}
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds_bytes, hipStream_t* stream) {
  if (pending.empty()) return fail(hipErrorInvalidConfiguration);
  Configuration c = pending.back();
  pending.pop_back();
  *grid = c.grid, *block = c.block, *lds_bytes = c.lds_bytes, *stream = c.stream;
  return hipSuccess;
}

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t lds_bytes,
                           hipStream_t stream) {
  auto found = kernels.find(function);
  if (found == kernels.end()) fault("launch_error", "a launch of something that is no kernel of this file");
  const Kernel& kernel = found->second;
  if (!kernel.thunk) fault("unsupported", "kernel %s cannot be called by the emulator", kernel.name.c_str());
  Configuration c{grid, block, lds_bytes, stream};
  check_stream(stream);
  check_configuration(kernel, c);
  ++launches;
  if (lds_bytes + kernel.static_lds > lds_bytes_max) lds_bytes_max = lds_bytes + kernel.static_lds;
  if (noop_replay) return hipSuccess;
  work_items += 1ull * grid.x * grid.y * grid.z * block.x * block.y * block.z;
  run_grid(kernel, c, arguments);
  return hipSuccess;
}

hipError_t hipGetLastError(void) {
  hipError_t error = last_error;
  last_error = hipSuccess;
  return error;
}
hipError_t hipPeekAtLastError(void) { return last_error; }
const char* hipGetErrorString(hipError_t error) { return error == hipSuccess ? "no error" : "error"; }
const char* hipGetErrorName(hipError_t error) { return error == hipSuccess ? "hipSuccess" : "hipError"; }

hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  return device_work(to, bytes, stream, [=] { memset(to, value, bytes); });
}
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind, hipStream_t stream) {
  const Region* source = region_of(from);
  if (!source || !region_of(to))
    fault("host_access", "a copy between host and device memory: tensor data stays on the device");
  if ((char*)from < source->data || (char*)from + bytes > source->data + source->bytes)
    fault("out_of_bounds", "a copy of %zu bytes reads outside %s", bytes, source->name.c_str());
  return device_work(to, bytes, stream, [=] { memmove(to, from, bytes); });
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int value) {
  return value >= 0 && (size_t)value <= kLdsBuffer ? hipSuccess : fail(hipErrorInvalidValue);
}
hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
hipError_t hipDeviceSynchronize(void) { return hipSuccess; }
hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int) {
  switch (attribute) {
    case hipDeviceAttributeMultiprocessorCount: *value = 304; return hipSuccess;
    case hipDeviceAttributeWarpSize: *value = kWave; return hipSuccess;
    case hipDeviceAttributeMaxThreadsPerBlock: *value = kMaxThreads; return hipSuccess;
    case hipDeviceAttributeMaxBlockDimX: *value = kMaxThreads; return hipSuccess;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: *value = kLdsLimit; return hipSuccess;
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: *value = kLdsLimit; return hipSuccess;
    default: fault("unsupported", "hipDeviceGetAttribute(%d)", (int)attribute);
  }
}
#undef hipGetDeviceProperties
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int) {
  *properties = {};
  strcpy(properties->name, "AMD Instinct");
  strcpy(properties->gcnArchName, "gfx942");
  properties->totalGlobalMem = 192ull << 30;
  properties->sharedMemPerBlock = kLdsLimit;
  properties->warpSize = kWave;
  properties->maxThreadsPerBlock = kMaxThreads;
  properties->multiProcessorCount = 304;
  properties->maxSharedMemoryPerMultiProcessor = kLdsLimit;
  return hipSuccess;
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int block_size, size_t) {
  *blocks = block_size > 0 ? 2048 / block_size : 1;
  return hipSuccess;
}
}
