/// What a TRITONSERVER_BufferAttributes* points to: what is known of a buffer besides its address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "atoll/request/tensor.h"
#include "triton/core/tritonserver.h"

/// Owns nothing and is copied as a value, so it may live in an arena.
struct TRITONSERVER_BufferAttributes {
  static constexpr size_t kIpcHandleBytes = 64;

  uint64_t size_bytes = 0;
  int64_t device_id = 0;
  atl::MemoryKind kind = atl::MemoryKind::kCpu;
  bool has_ipc_handle = false;
  /// For other processes: a cudaIpcMemHandle_t.
  alignas(8) char ipc_handle[kIpcHandleBytes] = {};
};

namespace atl::triton {

/// An atl::Buffer carries no handle.
inline TRITONSERVER_BufferAttributes attributes_of(const Buffer& buffer) noexcept {
  TRITONSERVER_BufferAttributes attributes;
  attributes.size_bytes = buffer.size_bytes;
  attributes.device_id = buffer.device_id;
  attributes.kind = buffer.kind;
  return attributes;
}

}  // namespace atl::triton
