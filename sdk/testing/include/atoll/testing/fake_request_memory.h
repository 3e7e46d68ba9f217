/// Memory of requests for tests of frontends, with a limit that a test may change.
#pragma once

#include "atoll/memory/request_memory.h"

namespace atl::test {

/// [any]
class FakeRequestMemory final : public RequestMemory {
 public:
  /// In the text of every refusal.
  static constexpr const char* kSetting = "the limit of this test";

  /// \param limit_bytes  0: none
  explicit FakeRequestMemory(uint64_t limit_bytes = 0) : budget_(limit_bytes, kSetting) {}
  virtual ~FakeRequestMemory() = default;

  RequestBudgetRef budget() noexcept override { return budget_; }
  void set_limit(uint64_t limit_bytes) noexcept { budget_->set_limit(limit_bytes); }
  uint64_t used_bytes() const noexcept { return budget_->used_bytes(); }
  uint64_t peak_bytes() const noexcept { return budget_->peak_bytes(); }

 private:
  const RequestBudgetRef budget_;
};

}  // namespace atl::test
