/// Standing between a request and its sink, as reshapes, admission and the order of responses do.
#pragma once

#include <cstdint>

#include "atoll/request/request.h"

namespace atl {

/// Passes everything on to the sink that the request had; override what is to be different, and call the
/// function here for the rest. A response and a request are given on with the next sink in them, so that
/// their users never see who stood in between. Lives until the request is released *and* its final response
/// is sent: the two come in either order, on any threads (see OpenParts). It is mostly in the request's
/// arena.
class SinkInterposer : public ResponseSink {
 public:
  /// The request's sink is this one from now on. Before the request is handed on.
  void interpose(Request& request) noexcept {
    next_ = request.sink;
    request.sink = this;
  }
  /// Undoes it, for a request that could not be handed on; the last one that was interposed goes first.
  void withdraw(Request& request) noexcept { request.sink = next_; }

  // --- ResponseSink ---
  Response* new_response() noexcept override {
    Response* response = next_->new_response();
    response->sink = this;
    return response;
  }
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept override {
    return next_->allocate(response, output, size_bytes, preferred_kind, preferred_device_id);
  }
  void send(Response* response, uint32_t flags) noexcept override { send_to(*next_, response, flags); }
  void discard(Response* response) noexcept override {
    response->sink = next_;
    next_->discard(response);
  }
  void released(Request& request) noexcept override { release_to(*next_, request); }

 protected:
  ~SinkInterposer() = default;

  ResponseSink& next() const noexcept { return *next_; }
  /// Sends, or releases, by a sink that was taken from next() while this object was sure to be there.
  static void send_to(ResponseSink& next, Response* response, uint32_t flags) noexcept {
    if (response != nullptr) response->sink = &next;
    next.send(response, flags);
  }
  static void release_to(ResponseSink& next, Request& request) noexcept {
    request.sink = &next;
    next.released(request);
  }

 private:
  ResponseSink* next_ = nullptr;
};

}  // namespace atl
