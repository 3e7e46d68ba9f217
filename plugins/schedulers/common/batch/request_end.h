/// Notice of a request's end, for schedulers that hold something for as long as a request lasts.
#pragma once

#include <cstdint>

#include "atoll/core/open_parts.h"
#include "atoll/request/request.h"
#include "atoll/request/sink_interposer.h"

namespace atl::schedulers {

class RequestEnd;

/// Called with no lock held, on the thread that releases or answers. [any]
class RequestEndListener {
 public:
  /// The request has been released and must not be touched; its responses may still come.
  virtual void on_released(RequestEnd& /*end*/) noexcept {}
  /// The request has been released and its final response sent: the last call. The notice may be used for
  /// another request or destroyed.
  virtual void on_ended(RequestEnd& end) noexcept = 0;

 protected:
  ~RequestEndListener() = default;
};

/// Stands before the sink of one request at a time and tells, once, when it has ended, in whatever order and
/// on whatever threads. A request that is rescheduled has not ended. It belongs to what is held for the
/// request (a slot of a sequence) and not into the request's own memory, which is gone by then. So that it
/// outlives the calls, its scheduler counts the request in in_flight() until on_ended().
class RequestEnd : public SinkInterposer {
 public:
  explicit RequestEnd(RequestEndListener& listener) noexcept : listener_(listener) {}
  RequestEnd(const RequestEnd&) = delete;
  RequestEnd& operator=(const RequestEnd&) = delete;
  virtual ~RequestEnd() = default;

  /// Before the request is handed on; withdraw() takes it back.
  void watch(Request& request) noexcept {
    open_.open(kFinalResponse | kRelease);
    interpose(request);
  }

  void send(Response* response, uint32_t flags) noexcept override {
    SinkInterposer::send(response, flags);
    if ((flags & kFinal) != 0) done(kFinalResponse);
  }
  void released(Request& request) noexcept override {
    SinkInterposer::released(request);
    listener_.on_released(*this);
    done(kRelease);
  }

 private:
  enum Part : uint32_t { kFinalResponse = 1, kRelease = 2 };

  void done(Part part) noexcept {
    if (open_.done(part)) listener_.on_ended(*this);
  }

  RequestEndListener& listener_;
  OpenParts open_;
};

}  // namespace atl::schedulers
