/// What the calls of one connection hold beside their messages.
#pragma once

#include <cstdint>

#include "frontends/common/call/request_charge.h"

namespace atl::frontends::grpc_nghttp2 {

/// Counted as memory of requests from some bytes on: ordinary connections hold less, and cost nothing. Not
/// thread safe.
class HeldBytes {
 public:
  static constexpr uint64_t kUncounted = uint64_t{64} << 10;
  static constexpr uint64_t kStep = uint64_t{64} << 10;

  /// \param budgets  null: nothing is counted; outlives this
  explicit HeldBytes(const RequestBudgets* budgets) noexcept {
    if (budgets != nullptr) charge_.set_source(*budgets);
  }

  /// Errors: RESOURCE_EXHAUSTED requests would take more than they may; the bytes are held all the same.
  Status add(uint64_t bytes) noexcept {
    bytes_ += bytes;
    if (bytes_ <= kUncounted + charge_.bytes()) return {};
    return charge_.cover((bytes_ - kUncounted + kStep - 1) / kStep * kStep);
  }
  void reduce(uint64_t bytes) noexcept {
    bytes_ -= bytes;
    if (charge_.bytes() == 0) return;
    if (bytes_ <= kUncounted) return charge_.release();
    const uint64_t needed = (bytes_ - kUncounted + kStep - 1) / kStep * kStep;
    // Not at every call that comes and goes.
    if (charge_.bytes() > needed + kStep) charge_.reduce(charge_.bytes() - needed);
  }
  uint64_t bytes() const noexcept { return bytes_; }
  uint64_t counted_bytes() const noexcept { return charge_.bytes(); }

 private:
  uint64_t bytes_ = 0;
  RequestCharge charge_;
};

}  // namespace atl::frontends::grpc_nghttp2
