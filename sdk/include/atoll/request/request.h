/// One inference request, from socket to backend, and the responses it gets.
///
/// Ownership. A frontend makes a Request inside a context of its own that also implements ResponseSink, and
/// calls Model::infer(). If that fails, the frontend still owns the request and answers itself. If it
/// succeeds, the request belongs to the model until release(kAll); the sink gets every response, the last one
/// with kFinal. The context may be reused when both have happened, in either order, on any thread. The
/// frontend keeps its ModelRef until then, which is what keeps the model, and every name these structs borrow
/// from it, alive.
///
/// Shape of what is here follows the Triton C API's request, response and response factory, so that a plugin
/// can serve that API as plain accessors: a factory is the request's sink, which outlives the request until
/// kFinal.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/request/arena.h"
#include "atoll/request/cancellation.h"
#include "atoll/request/tensor.h"
#include "atoll/request/trace.h"

namespace atl {

class Model;
class Request;
class Response;
struct ExecutionTimes;

/// Of a response that is sent.
enum ResponseFlags : uint32_t {
  kFinal = 1,  ///< it is the last one of its request
  /// With kFinal: it comes ahead of its bytes. All outputs with bytes are in memory whose events the sink gave
  /// (ResponseSink::allocate) and the sender has recorded; the request is released when they are reached, and not
  /// before. It may come from inside of execute(), where its receiver is not to begin other executions.
  kAhead = 2
};
/// What happens to a request that its holder is done with: it goes back to its maker, or to its scheduler.
enum ReleaseFlags : uint32_t { kReleaseAll = 1, kReleaseReschedule = 2 };
/// The request is the first, the last or, with both, the only one of its sequence.
enum SequenceFlags : uint32_t { kSequenceStart = 1, kSequenceEnd = 2 };
/// What admission (atoll/request/execution_admission.h, atoll/request/request_admission.h) has to know of models that call
/// models.
enum CallFlags : uint32_t {
  kHoldsResources = 1,        ///< its execution does; set by the scheduler that executes it
  kCallerHoldsResources = 2,  ///< set by set_parent()
  kIsStep = 4,                ///< made on behalf of another request, which was admitted; set by set_parent()
  kShadow = 8  ///< a copy of a client's request, whose responses nobody sees: no statistics count it
};

/// Correlation id: none, a number other than 0, or a text of 1..128 bytes. 7 and "7" are different sequences.
/// The text is borrowed, as every name in a request.
struct SequenceId {
  uint64_t number = 0;
  std::string_view text;
  bool empty() const noexcept { return number == 0 && text.empty(); }
};

/// Names are mostly borrowed, and then the same piece of memory.
inline bool is_same_name(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && (a.data() == b.data() || a == b);
}

/// An output the client asked for or, if it named none, one of the model's.
struct RequestedOutput {
  std::string_view name;
  int32_t spec_index = -1;      ///< position in ModelInfo::outputs; set by validation
  uint32_t classification = 0;  ///< 0: the tensor itself; n: its n highest values with their labels
  Buffer placement;             ///< where the client wants the bytes (shared memory); data null: anywhere
};
static_assert(sizeof(RequestedOutput) == 56);  // see ATOLL_SDK_LAYOUT

/// Implicit state of a sequence: tensors that the scheduler keeps from request to request. Null in requests of models
/// without it. [instance]
class SequenceState {
 public:
  /// Whether the model has a state `name`, by the name that it has as an output. Errors: INVALID_ARGUMENT it has none.
  virtual Status check_name(std::string_view name) const noexcept = 0;
  /// Gives a buffer for the new value of state `name`, valid until it is committed. The shape is copied.
  /// \param buffer  of at least size_bytes, of the preferred kind if there is such memory
  /// Errors: INVALID_ARGUMENT the model has no such state, or another type or shape; RESOURCE_EXHAUSTED.
  virtual Status output(std::string_view name, DataType datatype, std::span<const int64_t> shape,
                        uint64_t size_bytes, MemoryKind preferred_kind, int64_t preferred_device_id,
                        Buffer* buffer) noexcept = 0;
  /// The buffer of `name` is complete: it is the input of the sequence's next request.
  /// Errors: INVALID_ARGUMENT no buffer was given for it.
  virtual Status commit(std::string_view name) noexcept = 0;

 protected:
  ~SequenceState() = default;
};

/// Who gets the responses of one request and gives memory for them: a frontend's context, or a scheduler or
/// cache that put itself in front of it (Request::sink may be replaced between Model::infer and execution;
/// the interposer passes everything on). [any], one call at a time for one request.
class ResponseSink {
 public:
  /// An empty response; never null. It lives until it is sent or discarded.
  virtual Response* new_response() noexcept = 0;
  /// Gives output.buffer at least size_bytes, of the preferred kind if it can, else of another: the backend
  /// copes. Where they are depends on the output's name alone. Called once an output. size 0 is allowed.
  /// Memory of a device may have an event in ready_after, which is reached: who puts the output's making into a
  /// stream may record it there, behind that, and then send ahead (kAhead). Others leave it alone.
  /// Errors: RESOURCE_EXHAUSTED; INVALID_ARGUMENT the client's own buffer is too small.
  virtual Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes,
                          MemoryKind preferred_kind, int64_t preferred_device_id) noexcept = 0;
  /// Takes the response, or with null only the flags (a decoupled model's end without data). After kFinal
  /// nothing may be sent: the sink discards it.
  virtual void send(Response* response, uint32_t flags) noexcept = 0;
  /// Drops a response that will not be sent.
  virtual void discard(Response* response) noexcept = 0;
  /// The request is no longer used by anybody behind the sink; input bytes may go.
  virtual void released(Request& request) noexcept = 0;

 protected:
  ~ResponseSink() = default;
};

/// The scheduler of an iterative sequence: release(kReleaseReschedule) gives it a request that is not finished, which goes
/// on with a later batch (continuous batching).
class Rescheduler {
 public:
  /// [instance] Takes the request over again. On failure the caller still owns it.
  virtual Status reschedule(Request& request) noexcept = 0;

 protected:
  ~Rescheduler() = default;
};

/// Steady-clock times of one request, ns; 0: not reached.
struct RequestTimes {
  int64_t start_ns = 0;        ///< entry of Model::infer
  int64_t queue_start_ns = 0;  ///< handed to the scheduler
  int64_t deadline_ns = 0;     ///< the client's deadline; 0: none
};

/// What the scheduler that holds a request notes in it, so that queueing one allocates nothing. Null and 0
/// when the scheduler gets the request, and only that scheduler's: under its lock.
struct SchedulerLinks {
  Request* previous = nullptr;     ///< in the queue whose next one is Request::next
  const void* queue = nullptr;     ///< that the request is in; null: none
  void* level = nullptr;           ///< of priority, that the request waits in; null: none
  uint64_t deadline_place = 0;     ///< among those with a deadline, from 1 on; 0: it has none
  void* sequence = nullptr;        ///< that the request belongs to
  void* scheduler_data = nullptr;  ///< free for what else a scheduler has to note
};

/// One inference. Used by one holder at a time, on any thread; only its cancellation may be used beside that.
/// The structs of its lists, and whatever they point to that is not borrowed from the model or from buffers of
/// the frontend's, are in its arena and valid until released() was called and the maker resets it.
class Request {
 public:
  Request() noexcept = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // --- set by the maker; names and ids are NUL-terminated ---
  std::string_view id;     ///< the client's; empty: none
  Model* model = nullptr;  ///< of the maker's ModelRef
  SequenceId sequence;
  uint32_t sequence_flags = 0;  ///< SequenceFlags
  uint32_t call_flags = 0;      ///< CallFlags
  uint64_t priority = 0;        ///< 0: the model's default level
  uint64_t timeout_us = 0;      ///< 0: none; a queue policy decides whether it counts
  std::string_view tenant;      ///< from a header or key; empty: none
  std::string_view caller;  ///< who asks, as access control found (atoll/frontend/access.h); empty: not known
  ArenaList<InputTensor> inputs;
  ArenaList<RequestedOutput> outputs;  ///< empty until validation: all of the model's
  ArenaList<Parameter> parameters;
  ResponseSink* sink = nullptr;  ///< who gets the responses; outlives the request until kFinal
  Trace* trace = nullptr;        ///< null: not traced
  Cancellation cancellation;     ///< cancelled by the frontend when the client goes away
  /// Filled in before the release with the times that the model counts for the request (atoll/request/statistics.h), for
  /// a maker who adds them up; null: nobody asks. Left alone if the request is not executed, or fails.
  ExecutionTimes* execution_times = nullptr;

  // --- set on the way ---
  uint32_t batch_size = 0;  ///< the first dimension of the inputs if the model batches, else 0
  /// Of a refusal that may be tried again: after how long at the earliest, ms; 0: nothing is known. Set
  /// before the failure is returned or sent; valid as long as the request. Frontends tell it as Retry-After.
  uint32_t retry_after_ms = 0;
  RequestTimes times;
  SequenceState* state = nullptr;      ///< set by the scheduler of a model with implicit state
  Rescheduler* rescheduler = nullptr;  ///< set by the scheduler of an iterative sequence
  Request* next = nullptr;             ///< link for whoever queues the request
  SchedulerLinks links;

  /// Size in a batch: at least 1.
  uint32_t batch_weight() const noexcept { return batch_size == 0 ? 1 : batch_size; }
  /// [any]
  bool cancelled() const noexcept { return cancellation.cancelled(); }
  /// For what lives as long as the request.
  Arena& arena() noexcept { return arena_; }

  /// The input of this name; null if there is none.
  const InputTensor* find_input(std::string_view name) const noexcept {
    for (const InputTensor& input : inputs) {
      if (input.name == name) return &input;
    }
    return nullptr;
  }
  /// The output of this name that was asked for; null if it was not.
  /// \param guess  position in `outputs` that is looked at first
  const RequestedOutput* find_output(std::string_view name, size_t guess = 0) const noexcept {
    if (guess < outputs.size() && is_same_name(outputs[guess].name, name)) return &outputs[guess];
    for (const RequestedOutput& output : outputs) {
      if (is_same_name(output.name, name)) return &output;
    }
    return nullptr;
  }
  /// For the maker, which fills them in. The reference holds until the next of its kind is added; limits are
  /// the maker's to keep.
  InputTensor& add_input() noexcept { return inputs.add(arena_); }
  RequestedOutput& add_output() noexcept { return outputs.add(arena_); }
  Parameter& add_parameter() noexcept { return parameters.add(arena_); }

  /// For a request that is made by the execution of another one, which does not end before this one is
  /// answered: it is not made to wait for what its caller holds, nor asked for admission again.
  void set_parent(const Request& parent) noexcept {
    call_flags |= kIsStep;
    if ((parent.call_flags & (kHoldsResources | kCallerHoldsResources)) != 0)
      call_flags |= kCallerHoldsResources;
  }

  /// Ends the holder's use of the request. kReleaseReschedule gives it back to its scheduler (iterative
  /// sequences only: else INVALID_ARGUMENT and the caller still owns it).
  Status release(uint32_t what = kReleaseAll) noexcept {
    if ((what & kReleaseReschedule) != 0) {
      if (rescheduler == nullptr) {
        return invalid_argument("request '", id,
                                "' cannot be rescheduled: its model's scheduler is not iterative");
      }
      return rescheduler->reschedule(*this);
    }
    sink->released(*this);
    return {};
  }

  /// Ready for the next request; keeps the arena's memory. Only by the maker.
  void reset() noexcept {
    id = {};
    model = nullptr;
    sequence = {};
    sequence_flags = call_flags = 0;
    priority = timeout_us = 0;
    tenant = caller = {};
    inputs.clear();
    outputs.clear();
    parameters.clear();
    trace = nullptr;
    execution_times = nullptr;
    cancellation.reset();
    batch_size = retry_after_ms = 0;
    times = {};
    state = nullptr;
    rescheduler = nullptr;
    next = nullptr;
    links = {};
    arena_.reset();
  }

 private:
  Arena arena_;
};

static_assert(sizeof(Request) == 344);  // see ATOLL_SDK_LAYOUT

/// One response being built and sent. [instance], by one thread at a time.
///
/// Outputs are known by their names. A response has an output at most once: the sink answers the client with
/// an INTERNAL error otherwise. An output that is not among Request::outputs gets memory, but of no other
/// output, and is left out of what the client gets; a backend should not make it.
class Response {
 public:
  Response() noexcept = default;
  Response(const Response&) = delete;
  Response& operator=(const Response&) = delete;

  ArenaList<OutputTensor> outputs;  ///< added by add_output()
  ArenaList<Parameter> parameters;
  Status error;                  ///< not OK: an error response, without outputs
  ResponseSink* sink = nullptr;  ///< set by the sink that made it
  Response* next = nullptr;      ///< link for whoever queues the response

  /// For what lives as long as the response: until it is sent or discarded.
  Arena& arena() noexcept { return arena_; }

  /// Adds an output that was asked for, one of Request::outputs; the shape is copied. Then allocate() its
  /// buffer. The reference holds until the next output is added.
  OutputTensor& add_output(const RequestedOutput& wanted, DataType datatype,
                           std::span<const int64_t> shape) noexcept {
    OutputTensor& output = outputs.add(arena_);
    output.name = wanted.name;  // lives as long as the request, and so as what answers it
    output.datatype = datatype;
    output.shape = arena_.copy(shape);
    return output;
  }
  /// The same by name, which is copied.
  OutputTensor& add_output(std::string_view name, DataType datatype,
                           std::span<const int64_t> shape) noexcept {
    RequestedOutput named;
    named.name = arena_.copy_text(name);
    return add_output(named, datatype, shape);
  }
  /// Memory for the output, in output.buffer: see ResponseSink::allocate.
  /// Errors: as there; INTERNAL `output` is not one of `outputs`, or another was added after it.
  Status allocate(OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind = MemoryKind::kCpu,
                  int64_t preferred_device_id = 0) noexcept {
    if (!outputs.holds(output)) {
      return internal_error("output '", output.name,
                            "' is no longer where it was: its memory must be allocated before the next "
                            "output is added to the response");
    }
    return sink->allocate(*this, output, size_bytes, preferred_kind, preferred_device_id);
  }
  /// Gives the response away; do not touch it afterwards.
  void send(uint32_t flags = kFinal) noexcept { sink->send(this, flags); }
  /// The same, as an answer that the request has failed; outputs are not looked at.
  void send_error(Status failure, uint32_t flags = kFinal) noexcept {
    error = std::move(failure);
    sink->send(this, flags);
  }
  /// Ready for the next response. Only by the sink that made it.
  void reset() noexcept {
    outputs.clear();
    parameters.clear();
    error = Status();
    next = nullptr;
    arena_.reset();
  }

 private:
  Arena arena_{1024};
};

static_assert(sizeof(Response) == 88);  // see ATOLL_SDK_LAYOUT

/// Answers a request with a failure and releases it: what every holder does that cannot go on.
inline void fail_request(Request& request, Status failure) noexcept {
  ResponseSink* sink = request.sink;
  Response* response = sink->new_response();
  response->error = std::move(failure);
  sink->send(response, kFinal);
  (void)request.release(kReleaseAll).ok();
}

}  // namespace atl
