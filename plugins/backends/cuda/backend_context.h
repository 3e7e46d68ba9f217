/// What the backend's models work with.
#pragma once

#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/followed_service.h"
#include "atoll/core/log.h"
#include "atoll/gpu/cuda.h"
#include "atoll/memory/memory.h"

namespace atl::cuda_backend {

/// Outlives the models.
struct CudaBackendContext {
  Cuda* cuda = nullptr;
  const Clock* clock = nullptr;
  Log* log = nullptr;
  const Followed<Memory>* device_memory = nullptr;
  const Followed<Memory>* pinned_memory = nullptr;
  std::string nvrtc_libraries;
};

/// What both kinds of memory are declared by: `.needs = {need<Cuda>(), many<Memory>()}`.
inline Followed<Memory>::Find memory_finder(Host& host, MemoryKind kind) {
  return [&host, kind] {
    return memory_of(host.registry(), kind, kind == MemoryKind::kGpu ? Memory::kDevicesMinor : 0);
  };
}

}  // namespace atl::cuda_backend
