// The HIP runtime as the host half of a candidate sees it. Host code is not trusted with data: copies
// and fills are done here, on tensors alone, and what would move data to the host is refused.
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "runner.h"

Counters counters;
bool noop_mode;
const char* running_kernel;
static char stream_object;
void* const kStream = &stream_object;

namespace {
constexpr size_t kMaxLds = 65536;
constexpr uint32_t kMaxThreads = 1024;

struct Kernel {
  std::string symbol, shown;
  void (*thunk)(void**);
  size_t static_bytes;
};

struct Configuration {
  Dim grid, block;
  size_t lds_bytes;
  void* stream;
};

void* device;
std::map<const void*, Kernel> kernels;
std::vector<Configuration> configurations;

template <typename T>
T device_symbol(const std::string& name) {
  return reinterpret_cast<T>(dlsym(device, name.c_str()));
}

std::string demangle(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string shown = status == 0 && text != nullptr ? text : name;
  free(text);
  return shown;
}

// Parameters in a demangled signature; -1 when it has none (a C function).
int parameters_of(const std::string& signature) {
  if (signature.empty() || signature.back() != ')') {
    return -1;
  }
  int depth = 0, commas = 0;
  for (size_t i = signature.size(); i-- > 0;) {
    char c = signature[i];
    if (c == ')' || c == '>' || c == ']' || c == '}') {
      ++depth;
    } else if (c == '(' || c == '<' || c == '[' || c == '{') {
      if (--depth == 0) {
        std::string inside = signature.substr(i + 1, signature.size() - i - 2);
        return inside.empty() || inside == "void" ? 0 : commas + 1;
      }
    } else if (c == ',' && depth == 1) {
      ++commas;
    }
  }
  return -1;
}

void check_launch(const Kernel& kernel, const Configuration& c) {
  uint64_t threads = uint64_t{c.block.x} * c.block.y * c.block.z;
  bool block_ok = c.block.x <= kMaxThreads && c.block.y <= kMaxThreads &&
                  c.block.z <= kMaxThreads && threads > 0 && threads <= kMaxThreads;
  bool grid_ok = c.grid.x > 0 && c.grid.y > 0 && c.grid.z > 0 && c.grid.y <= 65535 &&
                 c.grid.z <= 65535 && uint64_t{c.grid.x} * c.block.x < (1ull << 32);
  if (!block_ok || !grid_ok) {
    fault("launch_error", "%s: grid (%u,%u,%u), block (%u,%u,%u): not a valid launch (%s)",
          kernel.shown.c_str(), c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z,
          block_ok ? "the grid is empty or too large" : "a block has 1 to 1024 work-items");
  }
  if (c.lds_bytes > kMaxLds || kernel.static_bytes + c.lds_bytes > kMaxLds) {
    fault("launch_error", "%s: %zu bytes of static and %zu of dynamic LDS, at most 65536 fit",
          kernel.shown.c_str(), kernel.static_bytes, c.lds_bytes);
  }
  if (c.stream != nullptr && c.stream != kStream) {
    fault("unsupported", "%s: launched on another stream than args->stream",
          kernel.shown.c_str());
  }
}

void launch(const Kernel& kernel, const Configuration& c, void** args) {
  check_launch(kernel, c);
  counters.launches += 1;
  counters.work_items +=
      uint64_t{c.grid.x} * c.grid.y * c.grid.z * c.block.x * c.block.y * c.block.z;
  if (kernel.static_bytes + c.lds_bytes > counters.lds_bytes_max) {
    counters.lds_bytes_max = kernel.static_bytes + c.lds_bytes;
  }
  if (noop_mode) {
    return;
  }
  char* begin = device_symbol<char*>("kv_static_lds_begin");
  char** bounds = reinterpret_cast<char**>(begin);
  const uint64_t* capacity = device_symbol<const uint64_t*>("kv_dynamic_lds_bytes");
  Launch work{};
  work.thunk = kernel.thunk;
  work.args = args;
  work.grid = c.grid;
  work.block = c.block;
  work.dynamic_bytes = capacity && *capacity ? c.lds_bytes : 0;
  work.dynamic_lds = device_symbol<char*>("kv_dynamic_lds");
  work.dynamic_capacity = capacity ? *capacity : 0;
  work.static_lds = bounds ? bounds[0] : nullptr;
  work.static_bytes = bounds && bounds[0] ? static_cast<size_t>(bounds[1] - bounds[0]) : 0;
  unlock_for_kernel();
  running_kernel = kernel.shown.c_str();
  run_launch(work);
  running_kernel = nullptr;
  lock_all();
}

// Checks one side of a copy or fill made by the runtime.
void check_range(const char* call, const void* data, size_t bytes, bool writes) {
  Region* region = find_region(data);
  if (region == nullptr) {
    fault("unsupported", "%s on memory that is no tensor and no workspace", call);
  }
  const char* begin = static_cast<const char*>(data);
  if (begin < region->data || bytes > region->bytes ||
      begin > region->data + (region->bytes - bytes)) {
    fault("out_of_bounds", "%s of %zu bytes leaves %s (%zu bytes)", call, bytes,
          region->name.c_str(), region->bytes);
  }
  if (writes && region->role == Role::kInput) {
    fault("input_modified", "%s writes to %s", call, region->name.c_str());
  }
}
}  // namespace

void load_device(const char* path) {
  device = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (device == nullptr) {
    fault("unsupported", "the kernels use a function that is not emulated: %s", dlerror());
  }
}

#define REFUSED(name)                                                                      \
  int name() {                                                                             \
    fault("unsupported",                                                                   \
          #name " is not available to candidates: tensors are given, scratch memory comes " \
                "from kv_workspace_size, work goes to args->stream");                      \
  }

extern "C" {
void** __hipRegisterFatBinary(const void*) {
  static void* handle;
  return &handle;
}

void __hipUnregisterFatBinary(void**) {}

void __hipRegisterFunction(void**, const void* stub, char*, const char* name, unsigned, void*,
                           void*, void*, void*, int*) {
  Kernel kernel{name, demangle(name), nullptr, 0};
  kernel.thunk = device_symbol<void (*)(void**)>("kv_thunk." + kernel.symbol);
  if (auto bytes = device_symbol<uint64_t (*)()>("kv_lds." + kernel.symbol)) {
    kernel.static_bytes = bytes();
  }
  kernels[stub] = kernel;
}

void __hipRegisterVar(void**, void*, char*, char*, int, size_t, int, int) {}
void __hipRegisterManagedVar(void**, void**, void*, const char*, size_t, unsigned) {}

int __hipPushCallConfiguration(Dim grid, Dim block, size_t lds_bytes, void* stream) {
  configurations.push_back({grid, block, lds_bytes, stream});
  return 0;
}

int __hipPopCallConfiguration(Dim* grid, Dim* block, size_t* lds_bytes, void** stream) {
  if (configurations.empty()) {
    fault("crash", "a kernel stub was called without a launch");
  }
  Configuration top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *lds_bytes = top.lds_bytes;
  *stream = top.stream;
  return 0;
}

int hipLaunchKernel(const void* stub, Dim grid, Dim block, void** args, size_t lds_bytes,
                    void* stream) {
  auto found = kernels.find(stub);
  if (found == kernels.end()) {
    fault("launch_error", "hipLaunchKernel was given something that is no kernel");
  }
  const Kernel& kernel = found->second;
  auto arity = device_symbol<const uint64_t*>("kv_arity." + kernel.symbol);
  int declared = parameters_of(kernel.shown);
  if (kernel.thunk == nullptr || arity == nullptr) {
    fault("unsupported", "%s is not part of the device half", kernel.shown.c_str());
  }
  if (declared >= 0 && static_cast<uint64_t>(declared) != *arity) {
    fault("unsupported", "%s takes an empty class by value, which the emulator cannot pass",
          kernel.shown.c_str());
  }
  launch(kernel, {grid, block, lds_bytes, stream}, args);
  return 0;
}

int hipMemsetAsync(void* to, int value, size_t bytes, void*) {
  check_range("hipMemsetAsync", to, bytes, true);
  counters.launches += 1;
  if (!noop_mode) {
    unlock_for_kernel();
    memset(to, value, bytes);
    lock_all();
  }
  return 0;
}

int hipMemcpyAsync(void* to, const void* from, size_t bytes, int, void*) {
  check_range("hipMemcpyAsync", to, bytes, true);
  check_range("hipMemcpyAsync", from, bytes, false);
  counters.launches += 1;
  if (!noop_mode) {
    unlock_for_kernel();
    memmove(to, from, bytes);
    lock_all();
  }
  return 0;
}

int hipGetLastError() { return 0; }
int hipPeekAtLastError() { return 0; }
int hipExtGetLastError() { return 0; }
const char* hipGetErrorString(int error) { return error == 0 ? "no error" : "an error"; }
const char* hipGetErrorName(int error) { return error == 0 ? "hipSuccess" : "hipErrorUnknown"; }
int hipFuncSetAttribute(const void*, int, int) { return 0; }
int hipStreamSynchronize(void*) { return 0; }
int hipDeviceSynchronize() { return 0; }

int hipGetDevice(int* id) {
  *id = 0;
  return 0;
}

int hipDeviceGetAttribute(int* value, int attribute, int) {
  // Numbers of hipDeviceAttribute_t in HIP 7; values of an MI300X.
  static const std::map<int, int> known = {
      {56, 1024},   // MaxThreadsPerBlock
      {63, 304},    // MultiprocessorCount
      {74, 65536},  // MaxSharedMemoryPerBlock
      {87, 64},     // WarpSize
  };
  auto found = known.find(attribute);
  if (found == known.end()) {
    fault("unsupported", "hipDeviceGetAttribute: attribute %d is not emulated", attribute);
  }
  *value = found->second;
  return 0;
}

int hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int size, size_t) {
  *blocks = size > 0 && size <= 1024 ? 2048 / size : 0;
  return 0;
}

REFUSED(hipMalloc)
REFUSED(hipMallocAsync)
REFUSED(hipMallocManaged)
REFUSED(hipFree)
REFUSED(hipFreeAsync)
REFUSED(hipHostMalloc)
REFUSED(hipHostFree)
REFUSED(hipHostRegister)
REFUSED(hipMemcpy)
REFUSED(hipMemset)
REFUSED(hipMemcpyToSymbol)
REFUSED(hipMemcpyFromSymbol)
REFUSED(hipMemcpyToSymbolAsync)
REFUSED(hipMemcpyFromSymbolAsync)
REFUSED(hipMemcpyDtoH)
REFUSED(hipMemcpyHtoD)
REFUSED(hipGetSymbolAddress)
REFUSED(hipStreamCreate)
REFUSED(hipStreamCreateWithFlags)
REFUSED(hipStreamDestroy)
REFUSED(hipEventCreate)
REFUSED(hipEventRecord)
REFUSED(hipEventSynchronize)
REFUSED(hipEventElapsedTime)
REFUSED(hipGetDevicePropertiesR0600)
REFUSED(hipLaunchCooperativeKernel)
REFUSED(hipModuleLoadData)
}
