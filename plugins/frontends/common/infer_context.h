/// What a frontend keeps for one inference request: the request, its sink, its responses and their memory.
///
/// A transport derives from it, says how tensor memory is given and how an answer is written, and reuses the
/// object through a pool. The object is in use until all of its *parts* are done, each exactly once, in any
/// order and on any thread: the final response, the release of the request, the return from Model::infer (so
/// that the model is not let go of inside its own call), and what the transport adds (its own write, its own
/// end of call). Whoever does the last part calls recycle().
#pragma once

#include <cstdint>

#include "atoll/model.h"
#include "atoll/model_demand.h"
#include "atoll/open_parts.h"
#include "atoll/registry.h"
#include "atoll/request.h"
#include "common/region_uses.h"
#include "common/request_charge.h"
#include "common/router_slot.h"

namespace atl::frontends {

class InferContext : public ResponseSink, private ModelWaiter {
 public:
  /// Bits; a transport's own begin at kTransportPart.
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2, kSubmitPart = 4, kTransportPart = 8 };

  InferContext() noexcept = default;
  InferContext(const InferContext&) = delete;
  InferContext& operator=(const InferContext&) = delete;
  virtual ~InferContext();

  Request request;
  ModelRef model;
  RegionUses regions;    ///< of inputs and outputs; released when the object is reused
  RequestCharge memory;  ///< that the request takes; the same

  // --- ResponseSink ---
  Response* new_response() noexcept final;
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept final;
  void send(Response* response, uint32_t flags) noexcept final;
  void discard(Response* response) noexcept final;
  void released(Request& released_request) noexcept final;

 protected:
  /// What a request takes beside its message and its tensors, about: this object, its arena, and what the
  /// transport has for it.
  static constexpr uint64_t kRequestBytes = 16 * 1024;

  /// Counts so many bytes more as this request's. Errors: as RequestCharge::add(); it is said when to try
  /// again.
  Status charge(uint64_t bytes) noexcept { return memory.try_add(bytes) ? Status() : refused(); }
  /// The same of what is missing of so many bytes in all.
  Status charge_all(uint64_t bytes) noexcept {
    return bytes <= memory.bytes() ? Status() : charge(bytes - memory.bytes());
  }
  /// The reason of a failure to read the request: that it may have no more memory, if that was it.
  Status reason(Status status) noexcept;
  /// Starts a use. \param transport_parts  bits from kTransportPart on that must be done as well.
  void begin(uint32_t transport_parts) noexcept;
  /// Hands the request to the model; `model` is set. After success the object may be in its next use already.
  /// On failure the request is ended and the failure is the answer, which the caller writes.
  Status submit() noexcept;
  /// Sets `model`, or waits for one that is loaded because this request asks for it. The request's deadline
  /// is set. \returns false: the request waits, and is not to be touched: model_came() may have been called.
  /// Errors: as ModelCatalog::acquire(), ModelDemand::await().
  Result<bool> find_model(const RouterSlot& router, ModelCatalog& catalog, Registry& registry,
                          std::string_view name, int64_t version) noexcept;
  /// Right before a wait, which may still be refused.
  virtual void about_to_wait() noexcept {}
  /// The end of a wait, on any thread; must be short. OK: `model` is set.
  virtual void model_came(Status /*status*/) noexcept {}
  /// Ends a use whose request never reached a model: the same as a submit() that failed.
  void abandon() noexcept;
  /// One part is done. A part that is done already, or was not asked for, does not count again.
  /// \returns true if it was the last one: recycle() has run and this object is not to be touched.
  bool done(uint32_t part) noexcept;
  /// Takes back a response that was written or dropped.
  void reclaim(Response* response) noexcept;
  /// Empties request, model, regions and trace, for recycle().
  void reset_request() noexcept;
  /// A moment of the transport's own, if the request is traced. \param name  a literal
  /// \param timestamp_ns  0: now
  void trace(const char* name, int64_t timestamp_ns = 0) noexcept {
    if (request.trace != nullptr) request.trace->report_named(name, timestamp_ns);
  }

  /// CPU memory of at least size_bytes for the output; sets buffer and, for drop_output, sink_data. Not asked
  /// for outputs that are written right where the client has placed them in a region.
  virtual Status allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept = 0;
  /// The output is not going to be sent: frees what allocate_output gave.
  virtual void drop_output(OutputTensor& output) noexcept = 0;
  void drop_outputs(Response& response) noexcept {
    for (OutputTensor& output : response.outputs) drop_output(output);
  }
  /// A response came (null: only flags); it is the receiver's until reclaim(). One call at a time, none after
  /// kFinal.
  virtual void on_response(Response* response, uint32_t flags) noexcept = 0;
  /// Every part is done.
  virtual void recycle() noexcept = 0;

 private:
  void on_model(Result<ModelRef> found) noexcept final;
  Status refused() noexcept;
  /// Leaves in the response what was asked for; one that has an output twice becomes an error. What is left
  /// is ready, and in CPU memory or where the client wants it.
  void keep_requested(Response& response) noexcept;
  Status settle(Response& response, OutputTensor& output, const RequestedOutput* wanted) noexcept;
  void refuse_repeated(Response& response) noexcept;
  void trace_outputs(const Response& response) noexcept;

  OpenParts parts_;
  bool final_seen_ = false;
  bool responded_ = false;  ///< a first response has come
  bool first_in_use_ = false;
  Response first_;             ///< most requests have one response
  Response* spare_ = nullptr;  ///< list of further ones that may be used again
};

}  // namespace atl::frontends
