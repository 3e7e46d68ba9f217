/// What one request has reserved of the memory of all requests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "frontends/common/call/request_budgets.h"

namespace atl::frontends {

/// Stays with the budget that gave it its first bytes until it is released, also if another one takes its
/// place meanwhile. Without a budget everything is allowed. Not thread safe; moves between threads.
class RequestCharge {
 public:
  /// After how long a client that was refused is to try again.
  static constexpr uint32_t kRetryAfterMs = 1000;

  RequestCharge() noexcept = default;
  RequestCharge(RequestCharge&& other) noexcept
      : source_(other.source_),
        code_(other.code_),
        budget_(std::exchange(other.budget_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  /// What was charged here is given back; the source stays.
  RequestCharge& operator=(RequestCharge&& other) noexcept {
    if (this != &other) {
      release();
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~RequestCharge() { release(); }

  /// Set once, before use; outlives this. \param refused  the code of a refusal, as the transport maps codes
  void set_source(const RequestBudgets& source, Code refused = Code::kResourceExhausted) noexcept {
    source_ = &source;
    code_ = refused;
  }
  /// Where refusals say when to try again; outlives this.
  void set_retry_after(uint32_t& retry_after_ms) noexcept { retry_after_ms_ = &retry_after_ms; }

  /// Reserves so many bytes more. \returns false: requests would take more than the limit, as refused() says;
  /// what was reserved stays.
  bool try_add(uint64_t bytes) noexcept {
    if (budget_ == nullptr) budget_ = present();
    if (budget_ == nullptr) return true;
    if (!budget_->try_reserve(bytes)) {
      refused_ = budget_->refusal(bytes).message();
      if (retry_after_ms_ != nullptr) *retry_after_ms_ = kRetryAfterMs;
      return false;
    }
    bytes_ += bytes;
    return true;
  }
  /// The same. Errors: set_source()'s code.
  Status add(uint64_t bytes) noexcept { return try_add(bytes) ? Status() : refused(); }
  /// Reserves what is missing of so many bytes in all. Errors: as add().
  Status cover(uint64_t bytes) noexcept { return bytes <= bytes_ ? Status() : add(bytes - bytes_); }
  /// Whether so many bytes could be added now. Errors: as add().
  Status check(uint64_t bytes) const noexcept {
    RequestBudget* budget = present();
    if (budget == nullptr || budget->check(bytes)) return {};
    return Status(code_, std::string(budget->refusal(bytes).message()));
  }
  /// Gives back so many of the bytes.
  void reduce(uint64_t bytes) noexcept {
    if (budget_ == nullptr) return;
    const uint64_t given = std::min(bytes, bytes_);
    budget_->release(given);
    bytes_ -= given;
  }
  void release() noexcept {
    reduce(bytes_);
    budget_ = nullptr;
    if (!refused_.empty()) refused_.clear();
  }

  uint64_t bytes() const noexcept { return bytes_; }
  /// The last refusal since the last release, for those whose failure is a consequence of it. OK: none.
  Status refused() const noexcept { return refused_.empty() ? Status() : Status(code_, refused_); }
  /// What a failure comes from: the last refusal, if there was one.
  Status reason(Status failure) const noexcept {
    return failure.ok() || refused_.empty() ? std::move(failure) : refused();
  }

 private:
  RequestBudget* present() const noexcept { return source_ == nullptr ? nullptr : source_->current(); }

  const RequestBudgets* source_ = nullptr;  ///< null: nothing is limited
  Code code_ = Code::kResourceExhausted;
  uint32_t* retry_after_ms_ = nullptr;  ///< null: nobody is to know
  RequestBudget* budget_ = nullptr;
  uint64_t bytes_ = 0;
  std::string refused_;  ///< empty: nothing was
};

}  // namespace atl::frontends
