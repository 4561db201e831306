// The kernelvault candidate ABI, version 1. Include after <hip/hip_runtime.h>.
//
// A candidate is one .hip file that defines
//     extern "C" int kv_launch(const kv_args* args);                 // 0 or a hipError_t
// and, if it needs scratch memory,
//     extern "C" size_t kv_workspace_size(const kv_args* args);      // bytes
//
// Inputs come first the user's, then parameters, buffers and constants; outputs are allocated by the
// caller (dense, row-major). Work goes to `stream`; nothing may be synchronised or kept between calls.
#ifndef KERNELVAULT_ABI_H
#define KERNELVAULT_ABI_H

#include <stddef.h>
#include <stdint.h>

#define KV_ABI_VERSION 1

// DLPack 1.0 layout (https://dmlc.github.io/dlpack), declared here so that nothing else is needed.
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLROCM = 10 } DLDeviceType;
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 } DLDataTypeCode;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void* data;            // aligned to 256 bytes
  DLDevice device;       // kDLROCM on every tier
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;      // in elements, never NULL
  uint64_t byte_offset;  // added to data
} DLTensor;

typedef enum { KV_INT = 0, KV_FLOAT = 1, KV_BOOL = 2 } kv_scalar_tag;
typedef struct {
  int32_t tag;           // a kv_scalar_tag
  union { int64_t i64; double f64; int32_t b; } value;
} kv_scalar;

#ifdef __cplusplus
template <typename T> inline T* kv_data(const DLTensor& t) {
  return reinterpret_cast<T*>(static_cast<char*>(t.data) + t.byte_offset);
}
#endif

typedef struct kv_args {
  int32_t abi_version;
  int32_t num_inputs;
  const DLTensor* inputs;
  int32_t num_outputs;
  DLTensor* outputs;
  int32_t num_scalars;
  const kv_scalar* scalars;
  void* workspace;
  size_t workspace_bytes;
  hipStream_t stream;
} kv_args;

#endif
