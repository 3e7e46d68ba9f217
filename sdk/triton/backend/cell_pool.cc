#include "backend/cell_pool.h"

#include <atomic>

namespace atl::triton {

uint32_t thread_number() noexcept {
  static constinit std::atomic<uint32_t> threads{0};
  thread_local const uint32_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace atl::triton
