/// Streams that were cut off because their clients did not take them.
#pragma once

#include <atomic>
#include <cstdint>

#include "atoll/core/host.h"
#include "atoll/core/text.h"
#include "atoll/lib/log_interval.h"

namespace atl::frontends::http {

/// Counts them, and logs one in a while. [any]
class SlowStreams {
 public:
  explicit SlowStreams(Host& host) : host_(host) {}

  /// \param most_bytes  more than these wait for the client
  void report(uint64_t most_bytes) noexcept {
    count_.fetch_add(1, std::memory_order_relaxed);
    const auto left_out = log_.next(host_.clock().now_ns());
    if (!left_out) return;
    host_.log().warning(
        "a stream was cut off, because more than ", most_bytes,
        " bytes wait for its client (max_stream_backlog_bytes)",
        *left_out == 0 ? "" : cat("; so were ", *left_out, " others since the last such line"));
  }
  uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  Host& host_;
  std::atomic<uint64_t> count_{0};
  LogInterval log_{10 * kNsPerSecond};
};

}  // namespace atl::frontends::http
