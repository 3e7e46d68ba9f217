/// The TLS of one listener, whose certificate may be renewed while it serves.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "frontends/common/tls/tls_channel.h"

namespace atl::frontends {

/// All functions [any].
class TlsListener {
 public:
  /// \param handshakes_a_thread  under way at a time
  TlsListener(TlsContext context, const Clock& clock, Log& log,
              uint32_t handshakes_a_thread = HandshakeTurns::kMost) noexcept
      : context_(std::move(context)), clock_(clock), log_(log), handshakes_a_thread_(handshakes_a_thread) {}

  uint32_t handshakes_a_thread() const noexcept { return handshakes_a_thread_; }
  /// For connections from now on; those that are there go on as they are.
  void renew(TlsContext context) noexcept;
  /// Of the certificate that connections get now, as TlsContext says it.
  std::string certificate_text() noexcept;
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
  const uint32_t handshakes_a_thread_;
  std::atomic<uint64_t> failures_{0};
  std::atomic<int64_t> next_told_ns_{0};
};

}  // namespace atl::frontends
