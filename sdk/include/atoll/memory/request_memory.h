/// What all requests of the server together may take of its memory. Service "atoll.request_memory/1",
/// provided by memory/host (option request_budget). There may be none, and then nothing bounds the sum.
///
/// A frontend reserves bytes before it takes them for a request, and gives them back when the request is
/// answered and released:
///
///     RequestBudgetRef budget = request_memory->budget();  // kept as long as the request
///     if (!budget->try_reserve(bytes)) return answer(budget->refusal(bytes));
///     ... receive the body, run the request
///     budget->release(bytes);
///
/// The count is an object that outlives its provider: a request's bytes stay in the budget that was there
/// when the request came, also if the manifest replaces the provider meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"

namespace atl {

class RequestBudgetRef;

/// The count of what requests have reserved, and its limit. No code of the provider belongs to it (no virtual
/// function, no deleter), so whoever keeps it may use and destroy it after the provider was unmapped.
///
/// Every function may be called from any thread, and none blocks or takes a lock [any]: a reservation and its
/// release cost an atomic operation each. Reservations are not attributed to anybody, so give back exactly
/// what you took.
class RequestBudget final {
 public:
  /// Mostly made by RequestBudgetRef.
  /// \param limit_bytes  0: there is no limit
  /// \param setting      where the limit is set ("option request_budget of memory/host"), for the text of
  /// refusals
  explicit RequestBudget(uint64_t limit_bytes = 0, std::string setting = {}) noexcept
      : limit_bytes_(limit_bytes), setting_(std::move(setting)) {}
  RequestBudget(const RequestBudget&) = delete;
  RequestBudget& operator=(const RequestBudget&) = delete;

  /// Counts so many bytes more; call it before the memory is taken.
  /// \returns false: requests would take more than the limit. Nothing is reserved then; send the client
  /// refusal().
  bool try_reserve(uint64_t bytes) noexcept {
    // Relaxed order is enough everywhere: the numbers are compared, and no other memory is published by them.
    uint64_t used = used_bytes();
    do {
      if (!has_room(used, bytes)) return refuse();
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    // Only what raises the peak writes to it.
    if (used + bytes > peak_bytes()) raise_peak(used + bytes);
    return true;
  }
  /// Gives back what was reserved in this budget, in one piece or several.
  void release(uint64_t bytes) noexcept { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// Whether so many bytes could be reserved now; reserves nothing. For a body that arrives slowly: its
  /// announced length is checked at once, but its bytes are reserved as they arrive, so that a mere promise
  /// of many bytes keeps nobody out. A false answer counts as refused.
  bool check(uint64_t bytes) noexcept { return has_room(used_bytes(), bytes) || refuse(); }
  /// The answer for a client whose request needed so many bytes more: RESOURCE_EXHAUSTED, with the bytes in
  /// use, the limit and the setting in its text. It advises to try again later, unless the request alone is
  /// larger than the limit.
  Status refusal(uint64_t bytes) const noexcept {
    return make_status(Code::kResourceExhausted, "the request needs ", bytes, " more bytes of memory, ",
                       used_bytes(), " bytes of the ", limit_bytes(),
                       " that all requests together may take are in use (", setting_, ")",
                       bytes > limit_bytes() ? "" : "; try again later");
  }

  /// Changes the limit. What is reserved stays reserved, also beyond a lower limit.
  void set_limit(uint64_t limit_bytes) noexcept {
    limit_bytes_.store(limit_bytes, std::memory_order_relaxed);
  }
  /// 0: there is no limit.
  uint64_t limit_bytes() const noexcept { return limit_bytes_.load(std::memory_order_relaxed); }
  /// Bytes that are reserved now.
  uint64_t used_bytes() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }
  /// The most bytes that were reserved at a time.
  uint64_t peak_bytes() const noexcept { return peak_bytes_.load(std::memory_order_relaxed); }
  /// How many reservations and checks have failed.
  uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  /// Compared in this form so that no sum overflows: `bytes` may come from a client.
  bool has_room(uint64_t used, uint64_t bytes) const noexcept {
    const uint64_t limit = limit_bytes();
    return limit == 0 || (bytes <= limit && used <= limit - bytes);
  }
  bool refuse() noexcept {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  /// Another thread may raise the peak at the same time; the higher value stays.
  void raise_peak(uint64_t bytes) noexcept {
    uint64_t peak = peak_bytes();
    while (peak < bytes && !peak_bytes_.compare_exchange_weak(peak, bytes, std::memory_order_relaxed)) {
    }
  }

  /// For the count of keepers.
  friend class RequestBudgetRef;
  /// How many RequestBudgetRefs there are.
  std::atomic<uint32_t> keepers_{1};
  /// 0: there is no limit.
  std::atomic<uint64_t> limit_bytes_;
  /// Named in refusals.
  const std::string setting_;
  /// On a cache line without the limit and the setting, which all threads only read.
  alignas(64) std::atomic<uint64_t> used_bytes_{0};
  std::atomic<uint64_t> peak_bytes_{0};
  /// For metrics, as the peak is.
  std::atomic<uint64_t> refused_{0};
};

/// Keeps a budget alive; the last one destroys it. Can be copied. std::shared_ptr would not do, because its
/// deleter is code of whoever made the object, which may be unmapped by then.
class RequestBudgetRef {
 public:
  /// Makes a new budget; the parameters are those of RequestBudget.
  RequestBudgetRef(uint64_t limit_bytes, std::string setting)
      : budget_(new RequestBudget(limit_bytes, std::move(setting))) {}
  /// One atomic addition.
  RequestBudgetRef(const RequestBudgetRef& other) noexcept : budget_(other.budget_) {
    budget_->keepers_.fetch_add(1, std::memory_order_relaxed);
  }
  RequestBudgetRef& operator=(const RequestBudgetRef&) = delete;
  /// The last one to go destroys the budget, wherever it was made.
  ~RequestBudgetRef() {
    if (budget_->keepers_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete budget_;
  }
  /// Never null.
  RequestBudget* get() const noexcept { return budget_; }
  RequestBudget* operator->() const noexcept { return budget_; }

 private:
  /// The budget that this object keeps.
  RequestBudget* const budget_;
};

/// Service "atoll.request_memory/1". Every function may be called from any thread [any].
class RequestMemory {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.request_memory/1";

  /// The budget of this provider; always the same one.
  virtual RequestBudgetRef budget() noexcept = 0;

 protected:
  ~RequestMemory() = default;
};

}  // namespace atl
