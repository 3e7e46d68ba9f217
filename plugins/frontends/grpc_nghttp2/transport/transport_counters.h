/// What one thread's connections count.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace atl::frontends::grpc_nghttp2 {

/// Why a connection was closed that its client had not ended.
enum class ClosedFor : uint8_t {
  kHeaderTimeout,   ///< no preface, or no end of a list of headers or of another frame that is not data
  kWriteStall,      ///< its socket took too little
  kKeepalive,       ///< a ping of ours was not answered
  kHttp2Error,      ///< what nghttp2 takes for an error of the connection
  kMetadata,        ///< far more than a call may have
  kContinuations,   ///< frames of one list of headers
  kResets,          ///< of calls without an answer
  kMalformedCalls,  ///< calls that we had to reset
  kPings,           ///< too early ones
  kOverheadFrames,  ///< frames that bring nothing
  kUnsentFrames,    ///< answers to frames that the client does not read
  kFrameSize,       ///< of one that is no data and no headers
};
inline constexpr size_t kClosedForCount = 12;

/// Why a call was not run, or was ended.
enum class RefusedFor : uint8_t {
  kRunningCalls,  ///< its connection has as many as it may
  kMetadata,      ///< more than a call may have
  kMemory,        ///< what the connection's calls hold does not fit into the memory of requests
  kMalformed,     ///< HTTP/2 that a call may not be made of
  kMessageStall,  ///< its message did not come in time
  kAnswerStall,   ///< its answer was not taken in time
};
inline constexpr size_t kRefusedForCount = 6;

/// Written by one thread, read by any.
class TransportCounters {
 public:
  // --- the thread ---
  void count(ClosedFor reason) noexcept { add(closed_[static_cast<size_t>(reason)], 1); }
  void count(RefusedFor reason) noexcept { add(refused_[static_cast<size_t>(reason)], 1); }
  void call_begins() noexcept { add(calls_, 1); }
  void call_ends() noexcept { add(ended_, 1); }

  // --- [any] ---
  uint64_t closed(size_t reason) const noexcept { return closed_[reason].load(std::memory_order_relaxed); }
  uint64_t refused(size_t reason) const noexcept { return refused_[reason].load(std::memory_order_relaxed); }
  /// Since the thread began.
  uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }
  uint64_t open_calls() const noexcept {
    const uint64_t ended = ended_.load(std::memory_order_acquire);
    return calls() - ended;
  }

 private:
  using Counter = std::atomic<uint64_t>;
  static void add(Counter& counter, uint64_t more) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }
  std::array<Counter, kClosedForCount> closed_{};
  std::array<Counter, kRefusedForCount> refused_{};
  Counter calls_{0};
  Counter ended_{0};
};

}  // namespace atl::frontends::grpc_nghttp2
