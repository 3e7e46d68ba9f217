/// What all requests of the server together may take of its memory. Service "atoll.request_memory/1"; may be
/// absent, and then nothing bounds the sum. Frontends reserve what they are about to take for a request, and
/// give it back when the request is answered and released.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"

namespace atl {

class RequestBudgetRef;

/// The count of what requests have reserved, and its limit. Nothing of it is code of its provider (no virtual
/// function, no deleter), so whoever keeps it may use and end it when the provider has been unmapped. [any]
/// Every function may be called from any thread; none blocks.
class RequestBudget final {
 public:
  /// \param limit_bytes  0: none
  /// \param setting      where the limit is set, for the text of refusals
  explicit RequestBudget(uint64_t limit_bytes = 0, std::string setting = {}) noexcept
      : limit_bytes_(limit_bytes), setting_(std::move(setting)) {}
  RequestBudget(const RequestBudget&) = delete;
  RequestBudget& operator=(const RequestBudget&) = delete;

  /// Counts so many bytes more, before they are taken. \returns false: requests would take more than the
  /// limit; nothing is reserved, and refusal() says so to the client.
  bool try_reserve(uint64_t bytes) noexcept {
    uint64_t used = used_bytes();
    do {
      if (!has_room(used, bytes)) return refuse();
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    if (used + bytes > peak_bytes()) raise_peak(used + bytes);
    return true;
  }
  /// Gives back what was reserved here, in one piece or several.
  void release(uint64_t bytes) noexcept { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// Whether so many bytes could be reserved now; reserves nothing. For what arrives slowly: a promise of
  /// many bytes should not keep others out.
  bool check(uint64_t bytes) noexcept { return has_room(used_bytes(), bytes) || refuse(); }
  /// RESOURCE_EXHAUSTED, with a text for the client whose request needed so many bytes more.
  Status refusal(uint64_t bytes) const noexcept {
    return make_status(Code::kResourceExhausted, "the request needs ", bytes, " more bytes of memory, ",
                       used_bytes(), " bytes of the ", limit_bytes(),
                       " that all requests together may take are in use (", setting_, ")",
                       bytes > limit_bytes() ? "" : "; try again later");
  }

  /// What is reserved stays reserved.
  void set_limit(uint64_t limit_bytes) noexcept {
    limit_bytes_.store(limit_bytes, std::memory_order_relaxed);
  }
  /// 0: none.
  uint64_t limit_bytes() const noexcept { return limit_bytes_.load(std::memory_order_relaxed); }
  uint64_t used_bytes() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }
  /// The most that was reserved at a time.
  uint64_t peak_bytes() const noexcept { return peak_bytes_.load(std::memory_order_relaxed); }
  /// Reservations and checks that failed.
  uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  bool has_room(uint64_t used, uint64_t bytes) const noexcept {
    const uint64_t limit = limit_bytes();
    return limit == 0 || (bytes <= limit && used <= limit - bytes);
  }
  bool refuse() noexcept {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  void raise_peak(uint64_t bytes) noexcept {
    uint64_t peak = peak_bytes();
    while (peak < bytes && !peak_bytes_.compare_exchange_weak(peak, bytes, std::memory_order_relaxed)) {
    }
  }

  friend class RequestBudgetRef;
  std::atomic<uint32_t> keepers_{1};
  std::atomic<uint64_t> limit_bytes_;
  const std::string setting_;
  alignas(64) std::atomic<uint64_t> used_bytes_{0};
  std::atomic<uint64_t> peak_bytes_{0};
  std::atomic<uint64_t> refused_{0};
};

/// Keeps a budget. std::shared_ptr would not do: what ends its object is code of whoever made it.
class RequestBudgetRef {
 public:
  RequestBudgetRef(uint64_t limit_bytes, std::string setting)
      : budget_(new RequestBudget(limit_bytes, std::move(setting))) {}
  RequestBudgetRef(const RequestBudgetRef& other) noexcept : budget_(other.budget_) {
    budget_->keepers_.fetch_add(1, std::memory_order_relaxed);
  }
  RequestBudgetRef& operator=(const RequestBudgetRef&) = delete;
  ~RequestBudgetRef() {
    if (budget_->keepers_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete budget_;
  }
  RequestBudget* get() const noexcept { return budget_; }
  RequestBudget* operator->() const noexcept { return budget_; }

 private:
  RequestBudget* const budget_;
};

/// [any]
class RequestMemory {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.request_memory/1";

  /// Always the same.
  virtual RequestBudgetRef budget() noexcept = 0;

 protected:
  ~RequestMemory() = default;
};

}  // namespace atl
