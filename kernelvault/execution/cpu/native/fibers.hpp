// Executes blocks: one fiber a work-item, waves of 64 lanes that meet at collectives, blocks that meet
// at barriers. Work-items that never wait run one after the other on a single stack.
#pragma once

#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <vector>

#include "faults.hpp"

extern "C" {
struct kv_uint3 {
  unsigned x, y, z;
};
kv_uint3 kv_thread_idx, kv_block_idx, kv_block_dim, kv_grid_dim;
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

namespace kv {

constexpr int kWave = 64;
constexpr size_t kStack = 512 << 10;
constexpr size_t kStackGuard = 128 << 10;

enum class State { fresh, ready, collective, barrier, done };

struct Fiber {
  void* stack_pointer;
  char* stack;
  State state;
  unsigned site;
  kv_uint3 index;
  int id;
  uint64_t value;
};

struct WaveSlot {
  uint64_t values[kWave];
  uint64_t active;
};

using Body = void (*)(void**);

struct Scheduler {
  std::vector<Fiber> fibers;
  std::vector<WaveSlot> waves;
  std::vector<char*> stacks;
  Fiber* current = nullptr;
  void* main_stack_pointer = nullptr;
  Body body = nullptr;
  void** arguments = nullptr;
  int cursor = 0, wave_begin = 0, wave_end = 0;
  unsigned stagger = 0;
};
inline Scheduler scheduler;

inline Fiber* next_runnable() {
  Scheduler& s = scheduler;
  while (s.cursor < s.wave_end) {
    Fiber& fiber = s.fibers[s.cursor++];
    if (fiber.state <= State::ready) return &fiber;
  }
  return nullptr;
}

inline char* take_stack() {
  Scheduler& s = scheduler;
  if (s.stacks.empty()) {
    void* stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) fault("memory_limit", "no memory for another work-item's stack");
    mprotect(stack, kStackGuard, PROT_NONE);  // an overflow must not reach the neighbour
    return (char*)stack;
  }
  char* stack = s.stacks.back();
  s.stacks.pop_back();
  return stack;
}

inline void fiber_entry();

// Switches from `from` (nullptr: the scheduler) to `to` (nullptr: the scheduler).
inline void switch_to(Fiber* from, Fiber* to) {
  Scheduler& s = scheduler;
  if (to) {
    if (to->state == State::fresh) {
      to->stack = take_stack();
      // Staggered stack tops keep the lanes of a wave out of each other's cache sets.
      void** top = (void**)(to->stack + kStack - 16 - (s.stagger++ % 61) * 192);
      *--top = nullptr;
      *--top = (void*)&fiber_entry;
      for (int i = 0; i < 6; ++i) *--top = nullptr;
      to->stack_pointer = top;
    }
    to->state = State::ready;
    s.current = to;
    kv_thread_idx = to->index;
  }
  kv_switch(from ? &from->stack_pointer : &s.main_stack_pointer, to ? to->stack_pointer : s.main_stack_pointer);
}

inline void wait_as(State state, unsigned site) {
  Fiber* fiber = scheduler.current;
  fiber->state = state;
  fiber->site = site;
  switch_to(fiber, next_runnable());
}

inline void fiber_entry() {
  Scheduler& s = scheduler;
  for (;;) {
    s.body(s.arguments);
    Fiber* finished = s.current;
    finished->state = State::done;
    Fiber* next = next_runnable();
    if (next && next->state == State::fresh) {  // the same stack goes on with the next work-item
      next->stack = finished->stack;
      next->state = State::ready;
      s.current = next;
      kv_thread_idx = next->index;
      continue;
    }
    s.stacks.push_back(finished->stack);
    switch_to(finished, next);
    __builtin_unreachable();
  }
}

// Lets lanes of a wave that wait at the same, lowest site exchange values; false when none waits.
inline bool resolve_collective(int wave, int begin, int end) {
  Scheduler& s = scheduler;
  unsigned site = 0;
  for (int i = begin; i < end; ++i)
    if (s.fibers[i].state == State::collective && (!site || s.fibers[i].site < site)) site = s.fibers[i].site;
  if (!site) return false;
  WaveSlot& slot = s.waves[wave];
  slot = WaveSlot{};
  for (int i = begin; i < end; ++i) {
    Fiber& fiber = s.fibers[i];
    if (fiber.state != State::collective || fiber.site != site) continue;
    slot.active |= 1ull << (i - begin);
    slot.values[i - begin] = fiber.value;
    fiber.state = State::ready;
  }
  return true;
}

inline void run_wave(int wave, int begin, int end) {
  Scheduler& s = scheduler;
  do {
    s.cursor = s.wave_begin = begin;
    s.wave_end = end;
    if (Fiber* fiber = next_runnable()) switch_to(nullptr, fiber);
  } while (resolve_collective(wave, begin, end));
}

// Releases a barrier that every live work-item has reached; false when none waits.
inline bool resolve_barrier(int count) {
  Scheduler& s = scheduler;
  int waiting = 0;
  unsigned site = 0;
  for (const Fiber& fiber : s.fibers) {
    if (fiber.state != State::barrier) continue;
    if (waiting++ && fiber.site != site)
      fault("divergent_barrier", "work-items of block (%u,%u,%u) wait at different __syncthreads, lines %u and %u",
            kv_block_idx.x, kv_block_idx.y, kv_block_idx.z, site, fiber.site);
    site = fiber.site;
  }
  if (!waiting) return false;
  for (int begin = 0; waiting != count && begin < count; begin += kWave) {
    int end = begin + kWave < count ? begin + kWave : count, here = 0;
    for (int i = begin; i < end; ++i) here += s.fibers[i].state == State::barrier;
    if (here && here != end - begin)
      fault("divergent_barrier", "part of a wave left block (%u,%u,%u) before the __syncthreads in line %u",
            kv_block_idx.x, kv_block_idx.y, kv_block_idx.z, site);
  }
  for (Fiber& fiber : s.fibers)
    if (fiber.state == State::barrier) fiber.state = State::ready;
  return true;
}

inline void run_block(Body body, void** arguments) {
  Scheduler& s = scheduler;
  const kv_uint3 d = kv_block_dim;
  int count = (int)(d.x * d.y * d.z);
  s.body = body;
  s.arguments = arguments;
  s.fibers.assign(count, Fiber{});
  s.waves.resize((count + kWave - 1) / kWave);
  for (int i = 0; i < count; ++i) {
    s.fibers[i].id = i;
    s.fibers[i].index = {(unsigned)i % d.x, (unsigned)i / d.x % d.y, (unsigned)i / d.x / d.y};
  }
  do {
    for (int begin = 0; begin < count; begin += kWave)
      run_wave(begin / kWave, begin, begin + kWave < count ? begin + kWave : count);
  } while (resolve_barrier(count));
}

inline const WaveSlot& collective(uint64_t value, unsigned site) {
  Fiber* fiber = scheduler.current;
  fiber->value = value;
  wait_as(State::collective, site);
  return scheduler.waves[fiber->id / kWave];
}

}  // namespace kv

extern "C" {
int kv_lane(void) { return kv::scheduler.current->id % kv::kWave; }

void kv_barrier(unsigned site) { kv::wait_as(kv::State::barrier, site); }

// Reading a lane that does not take part gives 0, as undefined on a GPU.
uint64_t kv_shuffle(uint64_t value, int source_lane, unsigned site) {
  return kv::collective(value, site).values[source_lane];
}

uint64_t kv_ballot(int predicate, unsigned site) {
  const kv::WaveSlot& slot = kv::collective(predicate != 0, site);
  uint64_t votes = 0;
  for (int lane = 0; lane < kv::kWave; ++lane) votes |= (slot.values[lane] & 1) << lane;
  return votes;
}

void kv_mfma_exchange(const void* mine, const void** all, unsigned site) {
  const kv::WaveSlot& slot = kv::collective((uint64_t)mine, site);
  if (slot.active != ~0ull) kv::fault("launch_error", "an MFMA in line %u runs with inactive lanes", site);
  for (int lane = 0; lane < kv::kWave; ++lane) all[lane] = (const void*)slot.values[lane];
}

// Keeps every lane's operands alive until all lanes have read them.
void kv_mfma_done(unsigned site) { kv::collective(0, site); }

void kv_trap(const char* message) { kv::fault("crash", "%s", message); }
}
