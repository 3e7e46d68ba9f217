/// Answers that were given before. Service "atoll.response_cache/1"; models are served without one.
///
/// The model catalog asks the provider of the highest rank, before admission, for each valid request of a
/// model whose configuration has `response_cache { enable: true }`, steps of ensembles included, unless it is part of
/// a sequence or a shadow (kShadow). What is a hit, how answers are kept and what is never kept (errors, answers of
/// several responses) is the provider's business. It sees answers by standing before the request's sink, and holds a
/// pass of its gate until such a request, or one that waits, has ended: it is replaced while requests run.
///
/// Two loads of one model may answer differently: ModelInfo::load_id tells them apart. So may two requests that differ
/// in a parameter of ModelInfo::cache_parameters.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/request/request.h"

namespace atl {

enum class CacheOutcome : uint32_t {
  kMiss =
      0,  ///< the request goes on; if it is interposed (atoll/request/sink_interposer.h) its answer can be kept
  kHit = 1,    ///< the request is answered and released, or will be: the caller does not touch it again
  kWaits = 2,  ///< it is not known yet: the waiter is told
};

/// Who has asked for one request. [any]
class CacheWaiter {
 public:
  /// It was a miss after all; a hit is answered by the provider. Once for a request that waits and is no hit,
  /// on a thread of the provider's with no lock held. A cancelled request is a miss: who comes next answers.
  virtual void resume(Request& request) noexcept = 0;

  // What is counted. Each is called at most once for a request, and one of them for each that could be looked up.

  /// The request is about to be answered by the provider. \param duration_ns  that finding the answer took
  virtual void report_hit(const Request& /*request*/, uint64_t /*duration_ns*/) noexcept {}
  /// The request's answer was computed; before its final response goes on.
  /// \param duration_ns  that looking for it and keeping it took
  virtual void report_miss(const Request& /*request*/, uint64_t /*duration_ns*/) noexcept {}

 protected:
  ~CacheWaiter() = default;
};

class ResponseCache {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.response_cache/1";

  /// Never fails: a provider that cannot look is a provider that does not have it. Until it answers or the
  /// waiter is told the request belongs to the provider, which may use its arena and `links`. [request]
  /// \param waiter  lives as long as the request
  virtual CacheOutcome look_up(Request& request, CacheWaiter& waiter) noexcept = 0;

 protected:
  ~ResponseCache() = default;
};

}  // namespace atl
