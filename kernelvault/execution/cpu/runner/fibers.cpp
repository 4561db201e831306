// Runs the blocks of a launch one after another. A work-item that never waits runs to its end on the
// current stack; one that waits keeps its stack as a fiber until its wave or block can go on.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "runner.h"

extern "C" {
Dim kv_thread_idx, kv_block_idx, kv_block_dim, kv_grid_dim;
void kv_switch(void** save, void* to);
}
asm(R"(
.text
.globl kv_switch
.type kv_switch,@function
kv_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp,(%rdi)
  mov %rsi,%rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
)");

namespace {
constexpr int kWave = 64;
constexpr size_t kStack = 256 << 10;
constexpr size_t kStackGuard = 4096;
constexpr int kLdsCanary = 0xC3;

enum State : uint8_t { kNew, kReady, kWaveOp, kBarrier, kDone };

struct Fiber {
  void* stack_pointer;
  char* stack;
  uint64_t slot;
  Dim thread;
  unsigned site;
  int index;
  State state;
};

struct Wave {
  uint64_t values[kWave];
  uint64_t mask;
};

std::vector<Fiber> fibers;
std::vector<Wave> waves;
std::vector<char*> free_stacks;
std::vector<char*> all_stacks;
Fiber* current;
void* scheduler_stack;
const Launch* active;
int cursor, wave_end;

char* take_stack() {
  if (!free_stacks.empty()) {
    char* stack = free_stacks.back();
    free_stacks.pop_back();
    return stack;
  }
  void* memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    fault("memory_limit", "no memory for the stacks of a block");
  }
  mprotect(memory, kStackGuard, PROT_NONE);
  all_stacks.push_back(static_cast<char*>(memory));
  return all_stacks.back();
}

Fiber* next_runnable() {
  while (cursor < wave_end) {
    Fiber& fiber = fibers[cursor++];
    if (fiber.state <= kReady) {
      return &fiber;
    }
  }
  return nullptr;
}

void enter(Fiber* fiber) {
  fiber->state = kReady;
  current = fiber;
  kv_thread_idx = fiber->thread;
}

void fiber_main();

// Null is the scheduler on the main stack.
void switch_to(Fiber* from, Fiber* to) {
  if (to != nullptr) {
    if (to->state == kNew) {
      to->stack = take_stack();
      // Spread the tops over cache sets: equal offsets in aligned stacks would all collide.
      void** top = reinterpret_cast<void**>(to->stack + kStack - 16 - (to->index % 61) * 192);
      *--top = nullptr;
      *--top = reinterpret_cast<void*>(&fiber_main);
      for (int i = 0; i < 6; ++i) {
        *--top = nullptr;
      }
      to->stack_pointer = top;
    }
    enter(to);
  }
  kv_switch(from ? &from->stack_pointer : &scheduler_stack,
            to ? to->stack_pointer : scheduler_stack);
}

void fiber_main() {
  for (;;) {
    active->thunk(active->args);
    Fiber* self = current;
    self->state = kDone;
    Fiber* next = next_runnable();
    if (next != nullptr && next->state == kNew) {
      next->stack = self->stack;
      enter(next);
      continue;
    }
    free_stacks.push_back(self->stack);
    switch_to(self, next);
  }
}

void wait_in_state(State state, unsigned site) {
  current->site = site;
  current->state = state;
  switch_to(current, next_runnable());
}

Wave& wave_operation(uint64_t value, unsigned site) {
  current->slot = value;
  wait_in_state(kWaveOp, site);
  return waves[current->index / kWave];
}

// Lanes at the lowest line form the active set, so that lanes that diverged meet again further down.
bool complete_wave_operation(int wave, int begin, int end) {
  unsigned site = ~0u;
  for (int i = begin; i < end; ++i) {
    if (fibers[i].state == kWaveOp) {
      site = std::min(site, fibers[i].site);
    }
  }
  if (site == ~0u) {
    return false;
  }
  waves[wave].mask = 0;
  for (int i = begin; i < end; ++i) {
    waves[wave].values[i - begin] = 0;
    if (fibers[i].state == kWaveOp && fibers[i].site == site) {
      waves[wave].mask |= 1ull << (i - begin);
      waves[wave].values[i - begin] = fibers[i].slot;
      fibers[i].state = kReady;
    }
  }
  return true;
}

void run_wave(int wave, int count) {
  int begin = wave * kWave;
  int end = std::min(count, begin + kWave);
  do {
    cursor = begin;
    wave_end = end;
    if (Fiber* fiber = next_runnable()) {
      switch_to(nullptr, fiber);
    }
  } while (complete_wave_operation(wave, begin, end));
}

// True when all work-items that still run wait at one barrier, which then opens.
bool complete_barrier(int count) {
  int waiting = 0;
  unsigned site = 0;
  for (int i = 0; i < count; ++i) {
    if (fibers[i].state == kBarrier) {
      if (waiting++ > 0 && fibers[i].site != site) {
        fault("divergent_barrier",
              "work-items of one block wait at __syncthreads in line %u and in line %u (block "
              "%u,%u,%u)",
              site, fibers[i].site, kv_block_idx.x, kv_block_idx.y, kv_block_idx.z);
      }
      site = fibers[i].site;
    }
  }
  for (int begin = 0; waiting > 0 && waiting < count && begin < count; begin += kWave) {
    int end = std::min(count, begin + kWave);
    int here = 0;
    for (int i = begin; i < end; ++i) {
      here += fibers[i].state == kBarrier;
    }
    if (here != 0 && here != end - begin) {
      fault("divergent_barrier",
            "%d of %d work-items of a wave reach __syncthreads in line %u, the others have ended "
            "(block %u,%u,%u)",
            here, end - begin, site, kv_block_idx.x, kv_block_idx.y, kv_block_idx.z);
    }
  }
  for (int i = 0; i < count; ++i) {
    if (fibers[i].state == kBarrier) {
      fibers[i].state = kReady;
    }
  }
  return waiting > 0;
}

void run_block(int count) {
  Dim thread{0, 0, 0};
  for (int i = 0; i < count; ++i) {
    fibers[i] = Fiber{nullptr, nullptr, 0, thread, 0, i, kNew};
    if (++thread.x == kv_block_dim.x) {
      thread.x = 0;
      if (++thread.y == kv_block_dim.y) {
        thread.y = 0;
        ++thread.z;
      }
    }
  }
  memset(active->static_lds, 0xFF, active->static_bytes);
  memset(active->dynamic_lds, 0xFF, active->dynamic_bytes);
  do {
    for (int wave = 0; wave * kWave < count; ++wave) {
      run_wave(wave, count);
    }
  } while (complete_barrier(count));
}

void check_dynamic_lds() {
  for (size_t i = active->dynamic_bytes; i < active->dynamic_capacity; ++i) {
    if (static_cast<unsigned char>(active->dynamic_lds[i]) != kLdsCanary) {
      fault("out_of_bounds",
            "byte %zu of dynamic LDS was written, %zu bytes were launched (block %u,%u,%u)", i,
            active->dynamic_bytes, kv_block_idx.x, kv_block_idx.y, kv_block_idx.z);
    }
  }
}
}  // namespace

void run_launch(const Launch& launch) {
  active = &launch;
  kv_grid_dim = launch.grid;
  kv_block_dim = launch.block;
  int count = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  fibers.resize(count);
  waves.resize((count + kWave - 1) / kWave);
  if (launch.dynamic_capacity > 0) {
    memset(launch.dynamic_lds, kLdsCanary, launch.dynamic_capacity);
  }
  for (uint32_t z = 0; z < launch.grid.z; ++z) {
    for (uint32_t y = 0; y < launch.grid.y; ++y) {
      for (uint32_t x = 0; x < launch.grid.x; ++x) {
        kv_block_idx = {x, y, z};
        run_block(count);
        if (launch.dynamic_capacity > 0) {
          check_dynamic_lds();
        }
      }
    }
  }
  current = nullptr;
}

bool in_fiber_guard(const void* address) {
  const char* place = static_cast<const char*>(address);
  for (const char* stack : all_stacks) {
    if (place >= stack && place < stack + kStackGuard) {
      return true;
    }
  }
  return false;
}

// What device code calls.
extern "C" {
int kv_lane() { return current->index % kWave; }

void kv_barrier(unsigned site) { wait_in_state(kBarrier, site); }

uint64_t kv_shuffle(uint64_t value, int source_lane, unsigned site) {
  return wave_operation(value, site).values[source_lane & (kWave - 1)];
}

uint64_t kv_ballot(int predicate, unsigned site) {
  const Wave& wave = wave_operation(predicate != 0, site);
  uint64_t votes = 0;
  for (int i = 0; i < kWave; ++i) {
    votes |= (wave.values[i] & 1) << i;
  }
  return votes;
}

void kv_mfma_exchange(const void* mine, const void** all, unsigned site) {
  const Wave& wave = wave_operation(reinterpret_cast<uint64_t>(mine), site);
  if (wave.mask != ~0ull) {
    fault("unsupported", "a matrix instruction in line %u runs with inactive lanes", site);
  }
  memcpy(all, wave.values, sizeof wave.values);
}

// Keeps the operands of every lane alive until all lanes have read them.
void kv_mfma_done(unsigned site) { wave_operation(0, site); }

void kv_trap(const char* message) { fault("crash", "the kernel stopped: %s", message); }
}
