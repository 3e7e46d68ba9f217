/// The budget that requests are counted in now.
#pragma once

#include <atomic>
#include <deque>

#include "atoll/core/followed_service.h"
#include "atoll/memory/request_memory.h"

namespace atl::frontends {

/// Follows atoll.request_memory/1. A request counts in the budget that was there when it came, whatever comes
/// and goes meanwhile, and pays for that with the load of a pointer: budgets are kept as long as this object,
/// some 200 bytes for each time that the provider was replaced.
class RequestBudgets {
 public:
  explicit RequestBudgets(Host& host) : service_(host, {}, [this] { renew(); }) {}

  /// [control] Errors: as Followed::open().
  Status open() noexcept { return service_.open(); }
  /// [request] Valid as long as this object. Null: nothing bounds what requests take.
  RequestBudget* current() const noexcept { return current_.load(std::memory_order_acquire); }

 private:
  void renew() {
    const auto service = service_.hold();
    if (service) kept_.push_back(service->budget());
    current_.store(service ? kept_.back().get() : nullptr, std::memory_order_release);
  }

  std::deque<RequestBudgetRef> kept_;
  std::atomic<RequestBudget*> current_{nullptr};
  Followed<RequestMemory> service_;
};

}  // namespace atl::frontends
