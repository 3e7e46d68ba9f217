/// Keeps the answer of a request that a cache did not know.
#pragma once

#include <cstdint>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/gate.h"
#include "atoll/core/host.h"
#include "atoll/core/open_parts.h"
#include "atoll/request/response_cache.h"
#include "atoll/request/sink_interposer.h"
#include "caches/common/cache_counts.h"
#include "caches/common/key_parts.h"

namespace atl::caches {

/// Stands before the request's sink until the request is released and answered, and counts what looking for the answer
/// and keeping it took. In the request's arena.
class AnswerKeeper : public SinkInterposer {
 public:
  void send(Response* response, uint32_t flags) noexcept override {
    const bool is_only = std::exchange(is_first_, false);
    ResponseSink& sink = next();
    if ((flags & kFinal) == 0) return send_to(sink, response, flags);
    on_answer(is_only ? response : nullptr);
    Gate& gate = gate_;
    const bool last = parts_.done(kFinalPart);
    send_to(sink, response, flags);
    if (last) gate.leave();
  }
  void released(Request& request) noexcept override {
    ResponseSink& sink = next();
    Gate& gate = gate_;
    const bool last = parts_.done(kReleasePart);
    release_to(sink, request);
    if (last) gate.leave();
  }

 protected:
  /// \param host  of the cache; a pass of its gate is given to this object \param hash  of the request's key
  AnswerKeeper(Host& host, CacheCounts& counts, Request& request, CacheWaiter& waiter, uint64_t hash,
               uint64_t looked_up_ns) noexcept
      : gate_(host.gate()),
        clock_(host.clock()),
        counts_(counts),
        request_(request),
        waiter_(waiter),
        hash_(hash),
        looked_up_ns_(looked_up_ns) {}
  ~AnswerKeeper() = default;

  /// Before the final response goes on; calls report_since(). \param only  the only response; null: there were others,
  /// or none with data
  virtual void on_answer(const Response* only) noexcept = 0;

  const Request& request() const noexcept { return request_; }
  uint64_t hash() const noexcept { return hash_; }
  int64_t now_ns() const noexcept { return clock_.now_ns(); }
  /// Whether others may have it: a success of one response, nothing of which its client may change meanwhile.
  bool may_keep(const Response* only) const noexcept {
    return only != nullptr && only->error.ok() && !has_placed_outputs(request_);
  }
  /// \param begun_ns  when keeping it began; it has ended
  void report_since(int64_t begun_ns) noexcept {
    const auto took_ns = static_cast<uint64_t>(now_ns() - begun_ns);
    counts_.add_insertion(hash_, took_ns);
    waiter_.report_miss(request_, looked_up_ns_ + took_ns);
  }

 private:
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2 };

  Gate& gate_;
  Clock& clock_;
  CacheCounts& counts_;
  Request& request_;
  CacheWaiter& waiter_;
  const uint64_t hash_;
  const uint64_t looked_up_ns_;
  bool is_first_ = true;  ///< no response has come
  OpenParts parts_{kFinalPart | kReleasePart};
};

}  // namespace atl::caches
