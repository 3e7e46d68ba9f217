/// Sees how a request that a cache did not know is answered.
#pragma once

#include <cstdint>
#include <utility>

#include "atoll/gate.h"
#include "atoll/open_parts.h"
#include "atoll/sink_interposer.h"

namespace atl::caches {

/// Stands before the request's sink until the request is released and answered. In the request's arena.
class AnswerWatch : public SinkInterposer {
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
  /// \param gate  of the cache; a pass of it is given to this object
  explicit AnswerWatch(Gate& gate) noexcept : gate_(gate) {}
  ~AnswerWatch() = default;

  /// Before the final response goes on. \param only  the only response; null: there were others, or none with data
  virtual void on_answer(const Response* only) noexcept = 0;

 private:
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2 };

  Gate& gate_;
  bool is_first_ = true;  ///< no response has come
  OpenParts parts_{kFinalPart | kReleasePart};
};

}  // namespace atl::caches
