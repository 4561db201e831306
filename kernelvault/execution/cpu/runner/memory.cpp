// Every tensor lives in a mapping of its own, between wide inaccessible zones, so that an overrun by
// any distance in practice faults and can be named. Outside kernels nothing is accessible at all.
#include <sys/mman.h>

#include <cstring>

#include "runner.h"

namespace {
constexpr size_t kPage = 4096;
constexpr size_t kGuard = 1 << 20;
constexpr size_t kAlignment = 256;
constexpr int kCanary = 0xC3;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

void protect(const Region& region, int protection) {
  if (mprotect(region.pages, region.page_bytes, protection) != 0) {
    fault("memory_limit", "the pages of %s cannot be protected", region.name.c_str());
  }
}

bool is_canary(const char* from, const char* to) {
  for (; from < to; ++from) {
    if (static_cast<unsigned char>(*from) != kCanary) {
      return false;
    }
  }
  return true;
}
}  // namespace

std::vector<Region> regions;

Region* add_region(const std::string& name, Role role, size_t bytes, int poison) {
  Region region{name, role, nullptr, 0, nullptr, 0, nullptr, bytes, poison};
  size_t padded = round_up(bytes ? bytes : 1, kAlignment);
  region.page_bytes = round_up(padded, kPage);
  region.mapping_bytes = region.page_bytes + 2 * kGuard;
  void* mapping = mmap(nullptr, region.mapping_bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    fault("memory_limit", "no memory for %s of %zu bytes", name.c_str(), bytes);
  }
  region.mapping = static_cast<char*>(mapping);
  region.pages = region.mapping + kGuard;
  region.data = region.pages + region.page_bytes - padded;
  protect(region, PROT_READ | PROT_WRITE);
  memset(region.pages, kCanary, static_cast<size_t>(region.data - region.pages));
  memset(region.data + bytes, kCanary, padded - bytes);
  regions.push_back(region);
  return &regions.back();
}

void drop_regions(size_t keep) {
  while (regions.size() > keep) {
    munmap(regions.back().mapping, regions.back().mapping_bytes);
    regions.pop_back();
  }
}

void unlock_for_harness() {
  for (const Region& region : regions) {
    protect(region, PROT_READ | PROT_WRITE);
  }
}

void unlock_for_kernel() {
  for (const Region& region : regions) {
    protect(region, region.role == Role::kInput ? PROT_READ : PROT_READ | PROT_WRITE);
  }
}

void lock_all() {
  for (const Region& region : regions) {
    protect(region, PROT_NONE);
  }
}

void poison_writable() {
  for (const Region& region : regions) {
    if (region.role != Role::kInput) {
      memset(region.data, region.poison, region.bytes);
    }
  }
}

void check_canaries() {
  for (const Region& region : regions) {
    if (!is_canary(region.pages, region.data)) {
      fault("guard_damaged", "bytes before the start of %s were written", region.name.c_str());
    }
    if (!is_canary(region.data + region.bytes, region.pages + region.page_bytes)) {
      fault("guard_damaged", "bytes past the end of %s were written", region.name.c_str());
    }
  }
}

Region* find_region(const void* address) {
  const char* place = static_cast<const char*>(address);
  for (Region& region : regions) {
    if (place >= region.mapping && place < region.mapping + region.mapping_bytes) {
      return &region;
    }
  }
  return nullptr;
}
