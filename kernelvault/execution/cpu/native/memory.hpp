// Tensor memory. Every tensor lies in a mapping of its own between guard pages, moved to the end of
// it so that an overrun leaves the mapping. Outside kernels no page is accessible at all, so host code
// cannot compute in a kernel's place; inside, inputs are read-only.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#include "faults.hpp"

namespace kv {

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 256;
// Address space is free: a stray index must go far to miss the guard and land in another tensor.
constexpr size_t kGuard = 64 << 20;
constexpr unsigned char kCanary = 0xC3;

struct Region {
  std::string name;  // "input 0", "output 1", "workspace"
  char* mapping;
  size_t mapping_bytes;
  char* pages;
  size_t page_bytes;
  char* data;
  size_t bytes;
  bool writable;
};

inline std::vector<Region> regions;
inline bool in_kernel = false;

inline size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

inline char* add_region(const std::string& name, size_t bytes, bool writable) {
  size_t padded = round_up(bytes ? bytes : 1, kAlignment);
  size_t page_bytes = round_up(padded, kPage);
  size_t mapping_bytes = page_bytes + 2 * kGuard;
  void* mapping = mmap(nullptr, mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) fault("memory_limit", "no memory for %s (%zu bytes)", name.c_str(), bytes);
  char* pages = (char*)mapping + kGuard;
  mprotect(pages, page_bytes, PROT_READ | PROT_WRITE);
  memset(pages, kCanary, page_bytes);
  char* data = pages + page_bytes - padded;
  regions.push_back({name, (char*)mapping, mapping_bytes, pages, page_bytes, data, bytes, writable});
  return data;
}

inline void protect_all(bool kernel) {
  for (const Region& r : regions) {
    int access = !kernel ? PROT_NONE : r.writable ? PROT_READ | PROT_WRITE : PROT_READ;
    mprotect(r.pages, r.page_bytes, access);
  }
}

inline void open_all() {
  for (const Region& r : regions) mprotect(r.pages, r.page_bytes, PROT_READ | PROT_WRITE);
}

// The bytes between a tensor and the borders of its pages are canaries.
inline void check_canaries() {
  for (const Region& r : regions) {
    for (char* p = r.pages; p < r.data; ++p)
      if ((unsigned char)*p != kCanary)
        fault("guard_damaged", "%s was written %zu bytes before its start", r.name.c_str(), (size_t)(r.data - p));
    for (char* p = r.data + r.bytes; p < r.pages + r.page_bytes; ++p)
      if ((unsigned char)*p != kCanary)
        fault("guard_damaged", "%s was written %zu bytes past its end", r.name.c_str(),
              (size_t)(p - (r.data + r.bytes)) + 1);
  }
}

inline void release_all() {
  for (const Region& r : regions) munmap(r.mapping, r.mapping_bytes);
  regions.clear();
}

inline const Region* region_of(const void* address) {
  for (const Region& r : regions)
    if ((char*)address >= r.mapping && (char*)address < r.mapping + r.mapping_bytes) return &r;
  return nullptr;
}

}  // namespace kv
