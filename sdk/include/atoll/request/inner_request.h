/// A request that is made inside the server: a step of an ensemble, a call of a Python model, a copy for a
/// shadow version, a warm-up.
///
/// A frontend's request comes with a context that answers a client. InnerRequest is that context for a maker
/// in the server: Request, ResponseSink and memory for the outputs in one object. A maker derives from it and
/// says what to do with responses and at the end:
///
///     class Call final : public InnerRequest {
///      private:
///       void on_response(Response* response, uint32_t flags) noexcept override {
///         if (response != nullptr && !response->error.ok()) failure_ = response->error.clone();
///       }
///       void on_end() noexcept override { owner_.call_ended(*this); }  // may delete or use this object again
///       ...
///     };
///
///     call.of(parent);                         // has its deadline, priority, trace, ...
///     InputTensor& input = call.request.add_input();
///     ... name, datatype, shape, buffers, size_bytes
///     call.infer(std::move(model));            // a ModelRef; nothing of `call` may be touched afterwards
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "atoll/core/open_parts.h"
#include "atoll/memory/memory.h"
#include "atoll/models/model.h"
#include "atoll/request/owner.h"
#include "atoll/request/request.h"
#include "atoll/request/traced_outputs.h"

namespace atl {

/// Request, sink and memory for outputs in one object.
///
/// Life of one use. The maker fills `request`, says with of() on whose behalf the request is, and gives it
/// away with infer() or submit(); with begin() where no model is asked and the maker itself hands the request
/// to whoever executes it; or ends it at once with refuse(). Then the object is in use until on_end(), which
/// is called once: when the final response has come, the request is released and infer() has returned, in
/// whatever order and on any threads. From inside on_end() on the object may be freed, or used again:
/// everything is as new, and the request's arena keeps its memory.
///
/// Memory. Outputs get memory of the CPU from the heap, unless the request names a place for them; makers
/// that need other memory override allocate_output() and free_output(), makers that have to bound it
/// reserve() and unreserve(). An object that is used again allocates nothing but the outputs for a typical
/// request.
///
/// Threads. of(), infer(), submit(), begin() and refuse() are called by the maker, while the object is not in
/// use. The functions of ResponseSink are called by whoever executes the request, on any thread.
class InnerRequest : public ResponseSink {
 public:
  /// The object is not in use, and takes no memory but its own.
  InnerRequest() noexcept = default;
  InnerRequest(const InnerRequest&) = delete;
  InnerRequest& operator=(const InnerRequest&) = delete;

  /// The maker fills in the inputs and what else the request has. Its sink, model and trace are set by this
  /// class.
  Request request;

  /// Says that the request is made on behalf of `parent`, which must not end before on_end() is called. The
  /// request gets the parent's deadline, priority, tenant and caller; it is cancelled and traced with the
  /// parent, and does not wait for resources that the parent holds (Request::set_parent()). Call it before
  /// the request is given away. A request that is nobody's, such as a warm-up's, needs no such call: it has
  /// no deadline and is cancelled by its maker alone.
  void of(Request& parent) noexcept { of(parent, parent.cancellation); }
  /// The same, but cancelled with another object, which is itself cancelled with the parent and lives as
  /// long. So a maker can cancel all that it has made for a parent, and leave the parent alone.
  void of(Request& parent, Cancellation& cancelled_with) noexcept {
    parent_ = &parent;
    cancelled_with_ = &cancelled_with;
    request.set_parent(parent);
    // What is made for a shadow is not counted either; sequences are those of the parent's owner.
    request.call_flags |= parent.call_flags & (kShadow | kCallerIsKnown);
    request.times.deadline_ns = parent.times.deadline_ns;
    request.priority = parent.priority;
    request.tenant = parent.tenant;
    request.caller = parent.caller;
  }

  /// Hands the request to the model, which is held until the end. If the model refuses it, on_response() gets
  /// the refusal as a response. The object may be freed, or be in its next use, when this returns.
  void infer(ModelRef target) noexcept {
    model_ = std::move(target);
    if (submit(*model_.get())) on_end();
  }
  /// The same for a model that somebody else holds until the end.
  /// \returns true: everything has ended before the model's call returned. Then on_end() is not called, and
  /// the caller does what on_end() would do. So a loop over requests that end at once does not become a
  /// recursion
  [[nodiscard]] bool submit(Model& model) noexcept {
    target_ = &model;
    if (parent_ != nullptr && parent_->trace != nullptr) {
      // A trace of its own below the parent's; null if the parent's trace takes no more.
      const ModelInfo& info = model.info();
      request.trace = parent_->trace->spawn_child(info.name, info.version, request.id);
    }
    request.model = target_;
    begin(kFinalPart | kReleasePart | kSubmitPart);
    if (Status status = model.infer(request); !status.ok()) {
      // The model has not taken it: nobody else will answer or release it.
      answer_refused(std::move(status));
      return ends_with(kFinalPart | kReleasePart | kSubmitPart);
    }
    return ends_with(kSubmitPart);
  }
  /// Answers a request that cannot be given away, in place of infer(): on_response() gets the failure, then
  /// on_end() is called. The object may be freed when this returns.
  void refuse(Status status) noexcept {
    begin(kFinalPart | kReleasePart);
    answer_refused(std::move(status));
    done(kFinalPart | kReleasePart);
  }
  /// Starts a use without a model: the maker hands `request` to whoever executes it, such as an instance. The
  /// use ends when the request is answered and released.
  void begin() noexcept { begin(kFinalPart | kReleasePart); }

  // --- ResponseSink ---
  /// Gives the response inside this object if it is free, else one from the heap: most requests have one
  /// response.
  Response* new_response() noexcept final {
    // Atomic, because another thread may give back a response that was kept of an earlier use.
    const bool is_first = !first_in_use_.exchange(true, std::memory_order_acquire);
    Response* response = is_first ? &first_ : new Response;
    response->sink = this;
    return response;
  }
  /// Gives memory by allocate_output(), after freeing what the output had before.
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept final {
    free_output(output);
    return allocate_output(response, output, size_bytes, preferred_kind, preferred_device_id);
  }
  /// Calls on_response(), and the rest of the use's end with the final response. What comes after it is
  /// dropped.
  void send(Response* response, uint32_t flags) noexcept final {
    // A sender that goes on after the end harms nobody but itself.
    if (final_seen_) {
      if (response != nullptr) discard(response);
      return;
    }
    final_seen_ = (flags & kFinal) != 0;
    if (response != nullptr && target_ != nullptr && !std::exchange(responded_, true)) {
      reports_at_end_ = (flags & kAhead) != 0;  // its bytes have not come
      if (!reports_at_end_) report_first_response();
    }
    kept_ = false;
    // Before the maker sees the response: it may change it or give its memory away.
    if (response != nullptr) trace_outputs(request.trace, *response);
    on_response(response, flags);
    // What the maker has not kept goes at once.
    if (response != nullptr && !kept_) discard(response);
    // The last statement: with it the object may be gone.
    if ((flags & kFinal) != 0) done(kFinalPart);
  }
  /// Also for a response that was kept (keep()). Waits until no device writes to the outputs any more, then
  /// frees them.
  void discard(Response* response) noexcept final {
    for (OutputTensor& output : response->outputs) {
      (void)wait_until_ready(output.buffer).ok();  // no device writes to it any more
      free_output(output);
    }
    // From the heap: a further response of a decoupled model, or one beside a response that was kept.
    if (response != &first_) {
      delete response;
      return;
    }
    response->reset();
    first_in_use_.store(false, std::memory_order_release);
  }
  /// May come before or after the final response.
  void released(Request&) noexcept final {
    // Frontends report the end of their requests at the same point.
    if (request.trace != nullptr) request.trace->report(TraceActivity::kRequestEnd, 0);
    done(kReleasePart);
  }

 protected:
  /// Only while the object is not in use, and no response of it is kept: nothing is answered or freed here.
  ~InnerRequest() = default;

  /// A response has come; if it is null, only flags (ResponseFlags). The response is the sink's again when
  /// this returns, unless keep() is called. One call at a time, none after kFinal. The caller may be inside
  /// an instance's execute(), so nothing that takes long belongs in here.
  virtual void on_response(Response* response, uint32_t flags) noexcept = 0;
  /// Called in on_response(): the response and the memory of its outputs stay as they are until the maker
  /// calls discard(), which may come after the end, on any thread. Until then the object must not be freed,
  /// but it may be in its next use.
  void keep() noexcept { kept_ = true; }
  /// The use has ended. May free this object, or begin its next use. Called on the thread that did the last
  /// part: the one that sent the final response, released the request, or called infer().
  virtual void on_end() noexcept = 0;
  /// May be overridden to bound memory: whether so many bytes may be taken for an output. Called by
  /// allocate_output() before it takes host memory; the same number comes to unreserve() later.
  /// Errors: they become those of the output's allocation.
  virtual Status reserve(const OutputTensor& /*output*/, uint64_t /*size_bytes*/) noexcept { return {}; }
  /// Memory that was reserved has been given back, or could not be had.
  virtual void unreserve(uint64_t /*size_bytes*/) noexcept {}
  /// As ResponseSink::allocate(): gives the place that the request names for the output
  /// (RequestedOutput::placement), else memory of the CPU from the heap, aligned to 64 bytes. May be
  /// overridden for memory of other kinds, together with free_output().
  /// Errors: INVALID_ARGUMENT the place is too small; RESOURCE_EXHAUSTED there is no memory; those of
  /// reserve().
  virtual Status allocate_output(Response& /*response*/, OutputTensor& output, uint64_t size_bytes,
                                 MemoryKind /*preferred_kind*/, int64_t /*preferred_device_id*/) noexcept {
    // The maker may want the bytes at a place of its own.
    const RequestedOutput* wanted = request.find_output(output.name);
    if (wanted != nullptr && wanted->placement.data != nullptr) {
      if (size_bytes > wanted->placement.size_bytes) {
        return invalid_argument("output '", output.name, "' has a place of ", wanted->placement.size_bytes,
                                " bytes and needs ", size_bytes);
      }
      output.buffer = wanted->placement;
    } else {
      ATOLL_RETURN_IF_ERROR(give_memory(output, size_bytes));
    }
    output.buffer.size_bytes = size_bytes;
    return {};
  }
  /// Gives back what allocate_output() gave. Also called for an output that has no memory.
  virtual void free_output(OutputTensor& output) noexcept { free_memory(output); }

 private:
  /// What has to happen before a use has ended. kFinalPart: the final response came. kReleasePart: the
  /// request was released. kSubmitPart: the model's call has returned.
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2, kSubmitPart = 4 };

  /// Stands in memory before the bytes of an output, and is as large as their alignment.
  /// OutputTensor::sink_data has its address, because users of the output may make its buffer smaller.
  struct alignas(64) Block {
    /// As many as were reserved.
    uint64_t size_bytes;
  };

  /// \param parts  what has to happen in this use
  void begin(uint32_t parts) noexcept {
    request.sink = this;
    final_seen_ = responded_ = reports_at_end_ = false;
    // Before anybody else has the request: from here on it is cancelled with the parent.
    if (parent_ != nullptr) {
      // A parent that is cancelled already cancels the request in here.
      link_.child = &request.cancellation;
      cancelled_with_->link(link_);
    }
    parts_.open(parts);
  }
  /// Gives on_response() a failure as the final response.
  void answer_refused(Status status) noexcept {
    Response* response = new_response();
    response->error = std::move(status);
    final_seen_ = true;
    kept_ = false;
    on_response(response, kFinal);
    if (!kept_) discard(response);
  }
  /// These parts have happened; ends the use with the last one.
  void done(uint32_t parts) noexcept {
    if (ends_with(parts)) on_end();
  }
  /// These parts have happened. \returns whether they were the last ones: then everything is as new
  bool ends_with(uint32_t parts) noexcept {
    // Only the thread that did the last part goes on from here.
    if (!parts_.done(parts)) return false;
    // The response came ahead; its bytes have come by now, so it counts from here.
    if (reports_at_end_) report_first_response();
    // When this has returned, nobody cancels the request any more, so it may be reset.
    if (std::exchange(parent_, nullptr) != nullptr) cancelled_with_->unlink(link_);
    if (request.trace != nullptr) request.trace->release();
    // Before on_end(), which may begin the next use of this object.
    request.reset();
    target_ = nullptr;
    model_.reset();
    return true;
  }

  /// Counts the time to the first response in the model's statistics.
  void report_first_response() noexcept {
    // Nobody waits for the answers of a shadow.
    if ((request.call_flags & kShadow) == 0) target_->report_first_response(request);
  }

  /// Memory of the CPU for an output, with a Block before it.
  /// Errors: RESOURCE_EXHAUSTED there is no memory, or size_bytes is more than any memory has; those of
  /// reserve().
  Status give_memory(OutputTensor& output, uint64_t size_bytes) noexcept {
    // Counted before it is taken, so that a maker's limit holds at every moment.
    ATOLL_RETURN_IF_ERROR(reserve(output, size_bytes));
    // aligned_alloc wants a size that is a multiple of the alignment, and the sum must not overflow.
    constexpr uint64_t kRoom = sizeof(Block);
    void* memory = size_bytes < UINT64_MAX - 2 * kRoom
                       ? std::aligned_alloc(kRoom, kRoom + (size_bytes + kRoom - 1) / kRoom * kRoom)
                       : nullptr;
    if (memory == nullptr) {
      unreserve(size_bytes);
      return make_status(Code::kResourceExhausted, "no memory for the ", size_bytes, " bytes of output '",
                         output.name, "'");
    }
    // The output's bytes begin behind it, aligned as it is.
    auto* block = new (memory) Block{size_bytes};
    output.buffer = {};
    output.buffer.data = block + 1;
    output.sink_data = reinterpret_cast<uint64_t>(block);
    return {};
  }
  /// Does nothing for an output whose memory is not from give_memory().
  void free_memory(OutputTensor& output) noexcept {
    auto* block = reinterpret_cast<Block*>(std::exchange(output.sink_data, 0));
    // Nothing was allocated, or the output has a place of the maker's.
    if (block == nullptr) return;
    // As many bytes as were reserved, whatever users of the output have made of its size.
    unreserve(block->size_bytes);
    std::free(block);
  }

  /// On whose behalf the request is; null: nobody's.
  Request* parent_ = nullptr;
  /// Mostly the parent's own.
  Cancellation* cancelled_with_ = nullptr;
  /// Links this request to cancelled_with_, while it is in use.
  CancelLink link_;
  /// The model that was asked; null: none is.
  Model* target_ = nullptr;
  /// Holds the target if nobody else does.
  ModelRef model_;
  OpenParts parts_;
  /// The final response has come.
  bool final_seen_ = false;
  /// A first response has come.
  bool responded_ = false;
  /// The first response came ahead of its bytes (kAhead), so it is counted at the end.
  bool reports_at_end_ = false;
  /// keep() was called for the response that on_response() has got.
  bool kept_ = false;
  /// Somebody has first_.
  std::atomic<bool> first_in_use_{false};
  /// The response that most requests need only.
  Response first_;
};

}  // namespace atl
