/// What foreign code reports of the memory it takes.
#pragma once

#include <cstdint>
#include <vector>

#include "atoll/request/statistics.h"
#include "atoll/triton/buffer_attributes.h"
#include "objects.h"

namespace atl::triton {

/// \param to  is replaced
inline TRITONSERVER_Error* report_memory(const char* function, TRITONSERVER_BufferAttributes** usage,
                                         uint32_t count, std::vector<MemoryUsage>& to) noexcept {
  if (usage == nullptr && count != 0) return null_argument(function);
  return guarded([&]() -> TRITONSERVER_Error* {
    std::vector<MemoryUsage> reported;
    for (uint32_t i = 0; i < count; ++i) {
      if (usage[i] == nullptr) return null_argument(function);
      reported.push_back({usage[i]->kind, usage[i]->device_id, usage[i]->size_bytes});
    }
    to = std::move(reported);
    return nullptr;
  });
}

}  // namespace atl::triton
