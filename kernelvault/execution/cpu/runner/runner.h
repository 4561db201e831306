// Declarations shared by the parts of the runner: a native program that loads the two halves of one
// candidate, plays the HIP runtime for its host half and runs its device half on fibers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct Dim {
  uint32_t x, y, z;
};

// ---- main.cpp: how a run ends
// Writes one fault line to the report and ends the process. Safe in a signal handler.
[[noreturn]] void fault(const char* kind, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- memory.cpp: tensors between guard pages
enum class Role { kInput, kOutput, kWorkspace };

struct Region {
  std::string name;
  Role role;
  char* mapping;
  size_t mapping_bytes;
  char* pages;  // accessible part; the data ends where it ends, up to 255 bytes of slack
  size_t page_bytes;
  char* data;
  size_t bytes;
  int poison;
};

extern std::vector<Region> regions;
Region* add_region(const std::string& name, Role role, size_t bytes, int poison);
void drop_regions(size_t keep);
void unlock_for_harness();
void unlock_for_kernel();
void lock_all();
void poison_writable();
void check_canaries();
Region* find_region(const void* address);

// ---- fibers.cpp: one kernel launch
struct Launch {
  void (*thunk)(void**);
  void** args;
  Dim grid, block;
  size_t dynamic_bytes;
  char* dynamic_lds;
  size_t dynamic_capacity;
  char* static_lds;
  size_t static_bytes;
};
void run_launch(const Launch& launch);
bool in_fiber_guard(const void* address);

// ---- hip_api.cpp: what the host half called
struct Counters {
  uint64_t launches, work_items, lds_bytes_max;
};
extern Counters counters;
extern bool noop_mode;
extern const char* running_kernel;  // null while host code runs
extern void* const kStream;
void load_device(const char* path);
extern "C" {
extern Dim kv_thread_idx, kv_block_idx, kv_block_dim, kv_grid_dim;
}
