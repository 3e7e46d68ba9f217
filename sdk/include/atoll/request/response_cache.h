/// Answers that were given before. Service "atoll.response_cache/1", minor 1, provided by caches/local, caches/redis
/// and caches/triton; models are served without one, too.
///
/// The model catalog asks the provider of the highest rank, before admission, for each valid request of a
/// model whose configuration has `response_cache { enable: true }`. Steps of ensembles are asked for, too;
/// requests of sequences and shadows (kShadow) are not.
///
/// What is a hit, how answers are kept and what is never kept (failures, answers of several responses) is the
/// provider's business. It sees answers by standing before the request's sink
/// (atoll/request/sink_interposer.h). It holds a pass of its host's gate until each such request, and each
/// that waits, has ended: so it can be replaced while requests run.
///
/// The key of an answer has to tell apart whatever may change the answer. Two loads of one model may answer
/// differently: ModelInfo::load_id, or for caches that servers share ModelInfo::content_id, says which it is.
/// Request parameters whose names are in ModelInfo::cache_parameters may do so, too.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/request/request.h"

namespace atl {

/// What a look-up came to.
enum class CacheOutcome : uint32_t {
  /// The request goes on to admission and scheduler. If the provider has interposed a sink, its answer can be
  /// kept.
  kMiss = 0,
  /// The provider has answered and released the request, or will do so: the caller does not touch it again.
  kHit = 1,
  /// It is not known yet, for example because an equal request is being computed: the provider answers the
  /// request, or calls CacheWaiter::resume().
  kWaits = 2,
};

/// Who has asked for one request: the catalog. May be called from any thread [any].
class CacheWaiter {
 public:
  /// Ends the wait of a request as a miss: it goes on to admission and scheduler, perhaps on this thread.
  /// Called once for a request that waits and is no hit, on a thread of the provider, with no lock held. A
  /// cancelled request is resumed, too: who comes next answers it.
  virtual void resume(Request& request) noexcept = 0;

  /// The request is about to be answered by the provider. For the statistics; called at most once for a
  /// request.
  /// \param duration_ns  that finding the answer took
  virtual void report_hit(const Request& /*request*/, uint64_t /*duration_ns*/) noexcept {}
  /// The request's answer was computed. For the statistics; called at most once for a request, before its
  /// final response goes on to the client. Requests that cannot be looked up are reported as neither hit nor
  /// miss.
  /// \param duration_ns  that looking for the answer and keeping it took
  virtual void report_miss(const Request& /*request*/, uint64_t /*duration_ns*/) noexcept {}

 protected:
  ~CacheWaiter() = default;
};

/// Service "atoll.response_cache/1".
class ResponseCache {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.response_cache/1";
  /// From this minor on it has memory_bytes().
  static constexpr uint32_t kMemoryMinor = 1;

  /// Looks for the answer of a request. Must not block, and never fails: a provider that cannot look reports
  /// a miss. If the outcome is kWaits the request belongs to the provider, which may use its arena and
  /// `links`, until it is answered or resumed. [request]
  /// \param waiter  lives as long as the request
  virtual CacheOutcome look_up(Request& request, CacheWaiter& waiter) noexcept = 0;

  // --- since minor 1 ---
  /// Bytes of the server's memory that the answers take which it keeps, with what it takes to find them; 0: they are kept
  /// elsewhere, or it is not known. [any]
  virtual uint64_t memory_bytes() const noexcept { return 0; }

 protected:
  ~ResponseCache() = default;
};

}  // namespace atl
