/// Standing between a request and its sink: whoever wants to see or change the responses of a request on
/// their way to the client does so by a SinkInterposer. The catalog, schedulers and caches have reshapes,
/// admission, the order of responses and the keeping of answers done in this way.
///
/// An interposer that counts the bytes of a request's outputs:
///
///     class OutputCounter final : public SinkInterposer {
///      public:
///       explicit OutputCounter(std::atomic<uint64_t>& bytes) noexcept : bytes_(bytes) {}
///       void send(Response* response, uint32_t flags) noexcept override {
///         if (response != nullptr) {
///           for (const OutputTensor& output : response->outputs) bytes_ += output.buffer.size_bytes;
///         }
///         SinkInterposer::send(response, flags);  // nothing of this object may be touched afterwards
///       }
///      private:
///       std::atomic<uint64_t>& bytes_;
///     };
///
///     request.arena().make<OutputCounter>(bytes)->interpose(request);  // before the request is handed on
#pragma once

#include <cstdint>

#include "atoll/request/request.h"

namespace atl {

/// Passes everything on to the sink that the request had before. Override the functions that are to do more,
/// and call the function of this class for the rest. Responses and requests are given on with the next sink
/// in them, so their users never see who stood in between.
///
/// Lifetime. An interposer has to live until the request is released and its final response is sent. The two
/// come in either order, on any threads: who has to know the later one counts with OpenParts
/// (atoll/core/open_parts.h). Most interposers lie in the request's arena, which lives as long. As soon as
/// the last of the two was passed on the maker may use the request again, and the interposer is gone.
///
/// Threads are those of ResponseSink: any thread, one call at a time for one request, save that released()
/// may come at the same time as the others.
class SinkInterposer : public ResponseSink {
 public:
  /// Makes this object the request's sink. Call it before the request is handed on.
  void interpose(Request& request) noexcept {
    next_ = request.sink;
    request.sink = this;
  }
  /// Undoes interpose(), for a request that could not be handed on. Of several interposers the last one goes
  /// first.
  void withdraw(Request& request) noexcept { request.sink = next_; }
  /// The interposer of this type that the request has, whatever stands before it; null: it has none. For a maker
  /// that one request passes several times and that needs one interposer: an iterative sequence executes its
  /// request again and again, and each execution would find a longer chain. To be called by the thread that has
  /// the request, which is not released.
  template <class Interposer>
  static Interposer* find(const Request& request) noexcept {
    auto* at = dynamic_cast<SinkInterposer*>(request.sink);
    while (at != nullptr) {
      if (auto* found = dynamic_cast<Interposer*>(at); found != nullptr) return found;
      at = dynamic_cast<SinkInterposer*>(at->next_);
    }
    return nullptr;
  }

  // --- ResponseSink ---
  /// The response of the next sink, with this object as its sink: so send() and discard() come here first.
  Response* new_response() noexcept override {
    Response* response = next_->new_response();
    response->sink = this;
    return response;
  }
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept override {
    return next_->allocate(response, output, size_bytes, preferred_kind, preferred_device_id);
  }
  /// Responses pass in the order in which they come. `response` may be null; see ResponseSink::send().
  void send(Response* response, uint32_t flags) noexcept override { send_to(*next_, response, flags); }
  void discard(Response* response) noexcept override {
    response->sink = next_;
    next_->discard(response);
  }
  /// The last that this object hears, unless the final response is still to come.
  void released(Request& request) noexcept override { release_to(*next_, request); }

 protected:
  ~SinkInterposer() = default;

  /// The sink that the request had before interpose().
  ResponseSink& next() const noexcept { return *next_; }
  /// Sends, or releases, by a sink that was taken from next() while this object was sure to exist. For an
  /// override that must not touch the object any more, because the other one of the two last calls may have
  /// ended it meanwhile.
  static void send_to(ResponseSink& next, Response* response, uint32_t flags) noexcept {
    if (response != nullptr) response->sink = &next;
    next.send(response, flags);
  }
  /// Likewise for the release.
  static void release_to(ResponseSink& next, Request& request) noexcept {
    request.sink = &next;
    next.released(request);
  }

 private:
  ResponseSink* next_ = nullptr;
};

}  // namespace atl
