/// What a frontend keeps for one inference request: the request, its sink, its responses and their memory.
///
/// A transport derives from it, says how tensor memory is given and how an answer is written, and reuses the
/// object through a pool. The object is in use until all of its *parts* are done, each exactly once, in any
/// order and on any thread: the final response, the release of the request, the return from Model::infer (so
/// that the model is not let go of inside its own call), and what the transport adds (its own write, its own
/// end of call). Whoever does the last part calls recycle().
///
/// Every call goes the same way, on the transport's thread that it belongs to: begin_call() finds the model
/// and, if need be, waits for it; parse_request() reads the request, large ones elsewhere; read_head() adds what
/// is not in its body; then it is handed to the model. refuse() answers whatever does not get there.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "atoll/core/open_parts.h"
#include "atoll/core/registry.h"
#include "atoll/models/model.h"
#include "atoll/models/model_demand.h"
#include "atoll/request/request.h"
#include "frontends/common/call/large_work.h"
#include "frontends/common/call/output_memory.h"
#include "frontends/common/call/region_uses.h"
#include "frontends/common/call/request_charge.h"
#include "frontends/common/call/router_slot.h"

namespace atl::frontends {

/// Where calls find their models.
struct ModelLookup {
  const RouterSlot& router;
  ModelCatalog& catalog;
  Registry& registry;
};

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

  // --- the way of a call. [its own thread] ---
  // The steps return false when the call waits for something: to_own_thread() is told of its end, perhaps
  // before they return. True: the request was handed over or refused; unless a part of the transport's is
  // open, the object may be in its next use.

  /// A step, and how what was waited for before it ended.
  using Next = bool (InferContext::*)(Status) noexcept;

  /// Finds the model, and goes on. The request's deadline is set. A model that is not there is waited for if
  /// it is loaded because requests ask for it. \param version  or why the call cannot go on
  bool begin_call(const ModelLookup& models, std::string_view name, Result<int64_t> version) noexcept;
  /// Goes on when the wait has ended.
  bool resume() noexcept { return (this->*std::exchange(next_, nullptr))(std::move(ended_)); }
  bool is_waiting() const noexcept { return next_ != nullptr; }
  /// Ends a call that did not get to its model.
  bool refuse_call(const Status& status) noexcept;
  /// Has read_large() run elsewhere. \returns false, for a step to return.
  /// Errors: UNAVAILABLE too much waits there; when to try again is said.
  Result<bool> read_elsewhere(LargeWork& work, Next next) noexcept;
  /// The same for what is not to be refused: to be posted.
  Task reading(Next next) noexcept;
  /// The request is read, or cannot be: hands it over.
  bool hand_over(Status read) noexcept;

  /// The model is there: fills the request from the body. \returns false: that is done elsewhere, and
  /// hand_over() is its next step
  virtual Result<bool> parse_request() noexcept = 0;
  /// [large work]
  virtual Status read_large() noexcept { return {}; }
  /// What the request has from beside its body: parameters, tenant, trace.
  virtual Status read_head() noexcept = 0;
  /// Answers a call that did not get to its model. The request is ended.
  virtual void refuse(const Status& status) noexcept = 0;
  /// Right before a wait, which may still be refused.
  virtual void about_to_wait() noexcept {}
  /// The end of a wait: has resume() called on the call's own thread. Must be short. [any]
  virtual void to_own_thread() noexcept = 0;

  /// Hands the request to the model; `model` is set. After success the object may be in its next use already.
  /// On failure the request is ended and the failure is the answer, which the caller writes.
  Status submit() noexcept;
  /// Ends a use whose request never reached a model: the same as a submit() that failed.
  void abandon() noexcept;
  /// One part is done. A part that is done already, or was not asked for, does not count again.
  /// \returns true if it was the last one: recycle() has run and this object is not to be touched.
  bool done(uint32_t part) noexcept {
    if (!parts_.done(part)) return false;
    recycle();
    return true;
  }
  /// Takes back a response that was written or dropped.
  void reclaim(Response* response) noexcept;
  /// Empties request, model, regions and trace, for recycle().
  void reset_request() noexcept;
  /// A moment of the transport's own, if the request is traced. \param name  copied
  /// \param timestamp_ns  0: now
  void trace(const char* name, int64_t timestamp_ns = 0) noexcept {
    if (request.trace != nullptr) request.trace->report_named(name, timestamp_ns);
  }

  /// CPU memory of at least size_bytes for the output; sets buffer and, for drop_output, sink_data. Not asked
  /// for outputs that are written right where the client has placed them in a region.
  virtual Status allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept;
  /// Whether so much can be answered, of an output with memory of its own. Errors: are the output's.
  virtual Status check_output(const OutputTensor& /*output*/, uint64_t /*size_bytes*/) noexcept { return {}; }
  /// The output is not going to be sent: frees what allocate_output gave.
  virtual void drop_output(OutputTensor& output) noexcept { free_output_memory(output); }
  /// What was charged for outputs is not counted any more, because they are written.
  void uncharge_outputs() noexcept { memory.reduce(std::exchange(output_bytes_, 0)); }
  void drop_outputs(Response& response) noexcept {
    for (OutputTensor& output : response.outputs) drop_output(output);
  }
  /// A response came (null: only flags); it is the receiver's until reclaim(). One call at a time, none after
  /// kFinal.
  virtual void on_response(Response* response, uint32_t flags) noexcept = 0;
  /// Every part is done.
  virtual void recycle() noexcept = 0;

 private:
  /// Sets `model`. \returns false: it is waited for
  Result<bool> find_model(const ModelLookup& models, std::string_view name, int64_t version) noexcept;
  /// The same of a version that only finishes sequences. \param absence  why there is no other one
  Result<bool> find_finishing(Status absence) noexcept;
  /// Of a request that is read: whether `model` has its sequence, or now is one that has it.
  Status find_sequence() noexcept;
  bool on_found(Status status) noexcept;
  void on_model(Result<ModelRef> found) noexcept final;
  void wait(Next next) noexcept;
  /// [any] What was waited for is there, or will not be.
  void end_wait(Status status) noexcept;
  Status refused() noexcept;
  /// Leaves in the response what was asked for; one that has an output twice becomes an error. What is left
  /// is ready, and in CPU memory or where the client wants it.
  void keep_requested(Response& response) noexcept;
  Status settle(Response& response, OutputTensor& output, const RequestedOutput* wanted) noexcept;
  void refuse_repeated(Response& response) noexcept;
  void trace_outputs(const Response& response) noexcept;

  OpenParts parts_;
  ModelCatalog* catalog_ = nullptr;  ///< where the model was looked for, and as what
  std::string_view wanted_name_;
  int64_t wanted_version_ = 0;
  ModelRef read_for_;          ///< whose names the request may borrow, when another one has its sequence
  Status absence_;             ///< not OK: `model` takes nothing but what goes on with its sequences
  Next next_ = nullptr;        ///< after what is waited for; null: nothing is
  Status ended_;               ///< how that did
  uint64_t output_bytes_ = 0;  ///< charged for outputs
  bool final_seen_ = false;
  bool responded_ = false;  ///< a first response has come
  bool first_in_use_ = false;
  Response first_;             ///< most requests have one response
  Response* spare_ = nullptr;  ///< list of further ones that may be used again
};

}  // namespace atl::frontends
