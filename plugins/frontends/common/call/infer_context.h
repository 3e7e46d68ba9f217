/// What a frontend keeps for one inference request: the request, its sink, its responses and their memory.
#pragma once

#include <cstdint>
#include <utility>

#include "atoll/core/open_parts.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "frontends/common/call/region_uses.h"
#include "frontends/common/call/request_charge.h"
#include "frontends/common/call/response_outputs.h"
#include "frontends/common/call/response_store.h"

namespace atl::frontends {

/// Belongs to a call, which reuses it. It is in use until all of its *parts* are done, each exactly once, in any
/// order and on any thread: the final response, the release of the request, the return from Model::infer (so
/// that the model is not let go of inside its own call), and what the transport adds (its own write, its own
/// end of call). Whoever does the last part calls the receiver's recycle().
class InferContext final : public ResponseSink {
 public:
  /// Bits; a transport's own begin at kTransportPart.
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2, kSubmitPart = 4, kTransportPart = 8 };
  /// What a request takes beside its message and its tensors, about: its call, its arena, and what the
  /// transport has for it.
  static constexpr uint64_t kRequestBytes = 16 * 1024;

  /// \param receiver  outlives this
  explicit InferContext(ResponseReceiver& receiver) noexcept;
  InferContext(const InferContext&) = delete;
  InferContext& operator=(const InferContext&) = delete;
  virtual ~InferContext() = default;

  Request request;
  ModelRef model;
  RegionUses regions;    ///< of inputs and outputs; released when the object is reused
  RequestCharge memory;  ///< that the request takes; the same
  ResponseOutputs outputs;

  /// Starts a use. \param transport_parts  bits from kTransportPart on that must be done as well
  void begin(uint32_t transport_parts) noexcept;
  /// Hands the request to the model; `model` is set. After success the object may be in its next use already.
  /// On failure the request is ended and the failure is the answer, which the caller writes.
  Status submit() noexcept;
  /// Ends a use whose request never reached a model: the same as a submit() that failed.
  void abandon() noexcept;
  /// One part is done. A part that is done already, or was not asked for, does not count again.
  /// \returns true if it was the last one: recycle() has run and this object is not to be touched.
  bool done(uint32_t part) noexcept {
    if (!parts_.done(part)) return false;
    receiver_.recycle();
    return true;
  }
  /// The request is another model's than the one it was read for, whose names it may borrow.
  void move_to(ModelRef other) noexcept { read_for_ = std::exchange(model, std::move(other)); }
  /// Empties request, model, regions and trace, for recycle().
  void reset() noexcept;
  /// A moment of the transport's own, if the request is traced. \param name  copied
  /// \param timestamp_ns  0: now
  void trace(const char* name, int64_t timestamp_ns = 0) noexcept {
    if (request.trace != nullptr) request.trace->report_named(name, timestamp_ns);
  }
  /// Takes back a response that was written or dropped.
  void reclaim(Response* response) noexcept { responses_.give(response); }

  // --- ResponseSink ---
  Response* new_response() noexcept override { return responses_.take(*this); }
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept override;
  void send(Response* response, uint32_t flags) noexcept override;
  void discard(Response* response) noexcept override;
  void released(Request& released_request) noexcept override;

 private:
  ResponseReceiver& receiver_;
  OpenParts parts_;
  ModelRef read_for_;
  bool final_seen_ = false;
  bool responded_ = false;  ///< a first response has come
  ResponseStore responses_;
};

}  // namespace atl::frontends
