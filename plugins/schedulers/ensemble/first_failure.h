/// Why a request fails.
#pragma once

#include <cstdint>
#include <utility>

#include "atoll/core/status.h"

namespace atl::ensemble {

/// The first reason is the one that is answered; what fails after it mostly does because of it.
class FirstFailure {
 public:
  bool none() const noexcept { return reason_.ok(); }
  /// \param retry_after_ms  0: nothing is said about it
  void note(Status reason, uint32_t retry_after_ms = 0) noexcept {
    if (!none()) return;
    reason_ = std::move(reason);
    retry_after_ms_ = retry_after_ms;
  }
  /// OK: nothing has failed. Ready for the next request.
  Status take(uint32_t* retry_after_ms) noexcept {
    *retry_after_ms = std::exchange(retry_after_ms_, 0);
    return std::exchange(reason_, {});
  }

 private:
  Status reason_;
  uint32_t retry_after_ms_ = 0;
};

}  // namespace atl::ensemble
