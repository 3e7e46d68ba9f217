/// The TLS of one listener, whose certificate may be renewed while it serves.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "frontends/grpc_nghttp2/transport/tls/tls_channel.h"

namespace atl::frontends::grpc_nghttp2 {

/// All functions [any].
class TlsListener {
 public:
  TlsListener(TlsContext context, const Clock& clock, Log& log) noexcept
      : context_(std::move(context)), clock_(clock), log_(log) {}

  /// For connections from now on; those that are there go on as they are.
  void renew(TlsContext context) noexcept;
  /// The TLS of a connection of the thread. Null: no memory.
  std::unique_ptr<TlsChannel> accept(int fd, TlsThread& thread) noexcept;

  /// Counts a connection that failed, and says so in the log, once a minute at most.
  void note_failure(std::string_view peer, std::string_view why) noexcept;
  uint64_t failures() const noexcept { return failures_.load(std::memory_order_relaxed); }

 private:
  static constexpr int64_t kTellIntervalNs = 60 * kNsPerSecond;

  std::mutex mutex_;
  TlsContext context_;
  const Clock& clock_;
  Log& log_;
  std::atomic<uint64_t> failures_{0};
  std::atomic<int64_t> next_told_ns_{0};
};

}  // namespace atl::frontends::grpc_nghttp2
