#include "request_budget.h"

namespace atl::memory {

Status RequestBudget::reserve(uint64_t bytes) noexcept {
  uint64_t used = used_bytes_.load(std::memory_order_relaxed);
  do {
    if (!has_room(used, bytes)) return refuse(used, bytes);
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return {};
}

Status RequestBudget::check(uint64_t bytes) noexcept {
  const uint64_t used = used_bytes();
  return has_room(used, bytes) ? Status() : refuse(used, bytes);
}

Status RequestBudget::refuse(uint64_t used, uint64_t bytes) noexcept {
  refused_.fetch_add(1, std::memory_order_relaxed);
  return make_status(Code::kResourceExhausted, "the request needs ", bytes, " more bytes of memory, ", used,
                     " bytes of the ", limit_bytes_,
                     " that all requests together may take are in use (option request_budget of memory/host)",
                     bytes > limit_bytes_ ? "" : "; try again later");
}

}  // namespace atl::memory
