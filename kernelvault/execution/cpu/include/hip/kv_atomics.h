// Atomics. Work-items of one block take turns on one CPU thread, so plain atomic builtins suffice.
#pragma once

template <typename T, typename F>
KV_DEVICE T kv_atomic_update(T* address, F update) {
  T old, next;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    next = update(old);
  } while (!__atomic_compare_exchange(address, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

template <typename T>
struct kv_same {
  using type = T;
};
template <typename T>
using kv_value = typename kv_same<T>::type;  // keeps the value out of template deduction

template <typename T>
KV_DEVICE T atomicAdd(T* p, kv_value<T> v) {
  return kv_atomic_update(p, [=](T old) { return (T)(old + v); });
}
template <typename T>
KV_DEVICE T unsafeAtomicAdd(T* p, kv_value<T> v) {
  return atomicAdd(p, v);
}
template <typename T>
KV_DEVICE T atomicAddNoRet(T* p, kv_value<T> v) {
  return atomicAdd(p, v);
}
template <typename T>
KV_DEVICE T atomicSub(T* p, kv_value<T> v) {
  return kv_atomic_update(p, [=](T old) { return (T)(old - v); });
}
template <typename T>
KV_DEVICE T atomicMax(T* p, kv_value<T> v) {
  return kv_atomic_update(p, [=](T old) { return old < v ? v : old; });
}
template <typename T>
KV_DEVICE T atomicMin(T* p, kv_value<T> v) {
  return kv_atomic_update(p, [=](T old) { return v < old ? v : old; });
}
template <typename T>
KV_DEVICE T atomicExch(T* p, kv_value<T> v) {
  return kv_atomic_update(p, [=](T) { return v; });
}
template <typename T>
KV_DEVICE T atomicCAS(T* p, kv_value<T> expected, kv_value<T> desired) {
  T seen = expected;
  __atomic_compare_exchange(p, &seen, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return seen;
}
template <typename T>
KV_DEVICE T atomicAnd(T* p, kv_value<T> v) {
  return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);
}
template <typename T>
KV_DEVICE T atomicOr(T* p, kv_value<T> v) {
  return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
}
template <typename T>
KV_DEVICE T atomicXor(T* p, kv_value<T> v) {
  return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);
}
KV_DEVICE unsigned atomicInc(unsigned* p, unsigned limit) {
  return kv_atomic_update(p, [=](unsigned old) { return old >= limit ? 0u : old + 1; });
}
KV_DEVICE unsigned atomicDec(unsigned* p, unsigned limit) {
  return kv_atomic_update(p, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}
