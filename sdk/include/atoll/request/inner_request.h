/// A request that is made inside the server: a copy of a client's, a warm-up's, a step of another one.
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
#include "atoll/request/request.h"

namespace atl {

/// Request, sink and memory for outputs in one object. The maker fills `request`, says with of() on whose
/// behalf it is, and gives it away with infer(), or, where no model is asked, with begin() to whoever executes
/// it. Then it is in use until on_end(), which is called once: when the final response has come, the request
/// is released and infer() has returned, in whatever order and on any threads. From inside on_end() on it
/// may be freed, or used again: everything is as new, and the request's arena keeps its memory.
class InnerRequest : public ResponseSink {
 public:
  InnerRequest() noexcept = default;
  InnerRequest(const InnerRequest&) = delete;
  InnerRequest& operator=(const InnerRequest&) = delete;

  Request request;

  /// The request is made on behalf of `parent`, which is not over before on_end() is called: it has the
  /// parent's deadline, priority, tenant and caller, is cancelled and traced with it, and does not wait for
  /// what the parent holds. Before infer().
  void of(Request& parent) noexcept { of(parent, parent.cancellation); }
  /// The same, cancelled with something else, which is cancelled with the parent and lives as long.
  void of(Request& parent, Cancellation& cancelled_with) noexcept {
    parent_ = &parent;
    cancelled_with_ = &cancelled_with;
    request.set_parent(parent);
    request.call_flags |= parent.call_flags & kShadow;
    request.times.deadline_ns = parent.times.deadline_ns;
    request.priority = parent.priority;
    request.tenant = parent.tenant;
    request.caller = parent.caller;
  }

  /// Hands the request to the model, which is held until the end. What the model refuses is answered with its
  /// refusal. The object may be free, or in its next use, afterwards.
  void infer(ModelRef target) noexcept {
    model_ = std::move(target);
    if (submit(*model_.get())) on_end();
  }
  /// The same, to a model that somebody else holds until the end.
  /// \returns true: everything has ended before the model's call returned. Then on_end() is not called, and what it
  /// would do is the caller's, so that a row of requests of which one begins with the other's end does not nest
  [[nodiscard]] bool submit(Model& model) noexcept {
    target_ = &model;
    if (parent_ != nullptr && parent_->trace != nullptr) {
      const ModelInfo& info = model.info();
      request.trace = parent_->trace->spawn_child(info.name, info.version, request.id);
    }
    request.model = target_;
    begin(kFinalPart | kReleasePart | kSubmitPart);
    if (Status status = model.infer(request); !status.ok()) {
      answer_refused(std::move(status));
      return ends_with(kFinalPart | kReleasePart | kSubmitPart);
    }
    return ends_with(kSubmitPart);
  }
  /// Answers a request that cannot be given away, instead of infer(). As there, it may be free afterwards.
  void refuse(Status status) noexcept {
    begin(kFinalPart | kReleasePart);
    answer_refused(std::move(status));
    done(kFinalPart | kReleasePart);
  }
  /// The request is given away otherwise: to be answered and released, and no more.
  void begin() noexcept { begin(kFinalPart | kReleasePart); }

  // --- ResponseSink ---
  Response* new_response() noexcept final {
    const bool is_first = !first_in_use_.exchange(true, std::memory_order_acquire);
    Response* response = is_first ? &first_ : new Response;
    response->sink = this;
    return response;
  }
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept final {
    free_output(output);
    return allocate_output(response, output, size_bytes, preferred_kind, preferred_device_id);
  }
  void send(Response* response, uint32_t flags) noexcept final {
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
    if (response != nullptr) trace_outputs(*response);
    on_response(response, flags);
    if (response != nullptr && !kept_) discard(response);
    if ((flags & kFinal) != 0) done(kFinalPart);
  }
  void discard(Response* response) noexcept final {
    for (OutputTensor& output : response->outputs) {
      (void)wait_until_ready(output.buffer).ok();  // no device writes to it any more
      free_output(output);
    }
    if (response != &first_) {
      delete response;
      return;
    }
    response->reset();
    first_in_use_.store(false, std::memory_order_release);
  }
  void released(Request&) noexcept final {
    if (request.trace != nullptr) request.trace->report(TraceActivity::kRequestEnd, 0);
    done(kReleasePart);
  }

 protected:
  ~InnerRequest() = default;

  /// A response came, or, if it is null, only flags. It is the sink's again when this returns, unless keep() is
  /// called. One call at a time, none after kFinal.
  virtual void on_response(Response* response, uint32_t flags) noexcept = 0;
  /// In on_response(): the response and its outputs' memory stay as they are until discard(), which may come after
  /// the end, on any thread. Until then the object must not be freed; it may be in its next use.
  void keep() noexcept { kept_ = true; }
  /// The use has ended; see above.
  virtual void on_end() noexcept = 0;
  /// Whether so much memory may be taken for an output. Errors: are the output's.
  virtual Status reserve(const OutputTensor& /*output*/, uint64_t /*size_bytes*/) noexcept { return {}; }
  /// It was given back.
  virtual void unreserve(uint64_t /*size_bytes*/) noexcept {}
  /// As ResponseSink::allocate(): the output's place, or host memory.
  virtual Status allocate_output(Response& /*response*/, OutputTensor& output, uint64_t size_bytes,
                                 MemoryKind /*preferred_kind*/, int64_t /*preferred_device_id*/) noexcept {
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
  /// What allocate_output() gave is used no more; also called for an output that has no memory.
  virtual void free_output(OutputTensor& output) noexcept { free_memory(output); }

 private:
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2, kSubmitPart = 4 };

  /// Before the bytes of an output, and as large as their alignment; where it is is in sink_data: users of the
  /// output may make its buffer smaller.
  struct alignas(64) Block {
    uint64_t size_bytes;
  };

  void begin(uint32_t parts) noexcept {
    request.sink = this;
    final_seen_ = responded_ = reports_at_end_ = false;
    if (parent_ != nullptr) {
      link_.child = &request.cancellation;
      cancelled_with_->link(link_);
    }
    parts_.open(parts);
  }
  void answer_refused(Status status) noexcept {
    Response* response = new_response();
    response->error = std::move(status);
    final_seen_ = true;
    kept_ = false;
    on_response(response, kFinal);
    if (!kept_) discard(response);
  }
  void done(uint32_t parts) noexcept {
    if (ends_with(parts)) on_end();
  }
  /// \returns whether these parts were the last ones: then everything is as new
  bool ends_with(uint32_t parts) noexcept {
    if (!parts_.done(parts)) return false;
    if (reports_at_end_) report_first_response();
    if (std::exchange(parent_, nullptr) != nullptr) cancelled_with_->unlink(link_);
    if (request.trace != nullptr) request.trace->release();
    request.reset();
    target_ = nullptr;
    model_.reset();
    return true;
  }

  void trace_outputs(const Response& response) const noexcept {
    if (request.trace == nullptr || !request.trace->wants_tensors()) return;
    for (const OutputTensor& output : response.outputs) {
      request.trace->report_tensor(TraceActivity::kTensorBackendOutput, output.name, output.datatype,
                                   output.shape, {&output.buffer, 1});
    }
  }

  void report_first_response() noexcept {
    // Nobody waits for the answers of a shadow.
    if ((request.call_flags & kShadow) == 0) target_->report_first_response(request);
  }

  Status give_memory(OutputTensor& output, uint64_t size_bytes) noexcept {
    ATOLL_RETURN_IF_ERROR(reserve(output, size_bytes));
    constexpr uint64_t kRoom = sizeof(Block);
    void* memory = size_bytes < UINT64_MAX - 2 * kRoom
                       ? std::aligned_alloc(kRoom, kRoom + (size_bytes + kRoom - 1) / kRoom * kRoom)
                       : nullptr;
    if (memory == nullptr) {
      unreserve(size_bytes);
      return make_status(Code::kResourceExhausted, "no memory for the ", size_bytes, " bytes of output '",
                         output.name, "'");
    }
    auto* block = new (memory) Block{size_bytes};
    output.buffer = {};
    output.buffer.data = block + 1;
    output.sink_data = reinterpret_cast<uint64_t>(block);
    return {};
  }
  void free_memory(OutputTensor& output) noexcept {
    auto* block = reinterpret_cast<Block*>(std::exchange(output.sink_data, 0));
    if (block == nullptr) return;
    unreserve(block->size_bytes);
    std::free(block);
  }

  Request* parent_ = nullptr;               ///< null: it has none
  Cancellation* cancelled_with_ = nullptr;  ///< mostly the parent's
  CancelLink link_;                         ///< to it
  Model* target_ = nullptr;                 ///< null: none is asked
  ModelRef model_;                          ///< if the target is not held otherwise
  OpenParts parts_;
  bool final_seen_ = false;
  bool responded_ = false;       ///< a first response has come
  bool reports_at_end_ = false;  ///< that it has
  bool kept_ = false;            ///< the one that on_response() gets
  std::atomic<bool> first_in_use_{false};
  Response first_;  ///< most requests have one response
};

}  // namespace atl
