/// Requests of one batch that are run at once.
#pragma once

#include <cstdint>
#include <vector>

#include "atoll/request/request.h"
#include "backends/common/batch_groups.h"
#include "backends/cuda/pipeline/pipeline.h"

namespace atl::cuda_backend {

using backends::BatchGroup;

/// What a host copies itself into pinned memory rather than having the device fetch it piece by piece.
inline constexpr uint64_t kDirectBytes = 64 * 1024;
/// What is copied along between two pieces rather than beginning another transfer: no more than lies between tensors.
inline constexpr uint64_t kGapBytes = kScratchAlignment;
/// What tensors are aligned to that are used where they are: what atoll.memory/1 gives.
inline constexpr uint64_t kInPlaceAlignment = 64;

inline bool is_on_device(const Buffer& buffer, int32_t device) noexcept {
  return buffer.kind == MemoryKind::kGpu && buffer.device_id == device;
}
inline bool is_aligned(const Buffer& buffer) noexcept {
  return reinterpret_cast<uintptr_t>(buffer.data) % kInPlaceAlignment == 0;
}

/// Memory of the device at the address.
inline Buffer device_buffer(uint64_t address, uint64_t size_bytes, int32_t device) noexcept {
  return {.data = reinterpret_cast<void*>(address),
          .size_bytes = size_bytes,
          .kind = MemoryKind::kGpu,
          .device_id = device};
}
inline Buffer host_buffer(const void* data, uint64_t size_bytes) noexcept {
  return {.data = const_cast<void*>(data), .size_bytes = size_bytes};
}

}  // namespace atl::cuda_backend
