/// One inference request, from socket to backend, and the responses it gets.
///
/// Life. A frontend makes a Request inside a context of its own that also implements ResponseSink, and calls
/// Model::infer(). The model validates the request and hands it to its scheduler; the scheduler hands it in a
/// Batch to BackendInstance::execute(); the backend sends its responses to Request::sink and releases it:
///
///     ResponseSink* sink = request.sink;
///     Response* response = sink->new_response();
///     OutputTensor& output = response->add_output("SUM", DataType::kFp32, shape);
///     if (Status status = response->allocate(output, 4); !status.ok()) {
///       sink->discard(response);
///       return fail_request(request, std::move(status));
///     }
///     std::memcpy(output.buffer.data, &sum, 4);  // if buffer.kind says that the CPU may write there
///     response->send(kFinal);
///     (void)request.release();
///
/// Most backends do not write this themselves: atoll/backend/responder.h does it for a whole batch, with the
/// statistics that belong to it.
///
/// Ownership. If Model::infer() fails, the frontend still owns the request and answers the client itself. If
/// it succeeds, the request belongs to the model until release(kReleaseAll); the sink gets every response,
/// the last one with kFinal. The context may be reused when both have happened, in either order, on any
/// thread. The frontend keeps its ModelRef until then, which keeps the model, and every name these structs
/// borrow from it, alive.
///
/// Names. KServe V2 fields have the members' names (id, inputs, outputs, parameters). In Triton's C API a
/// Request is a TRITONSERVER_InferenceRequest or TRITONBACKEND_Request, a Response a TRITONBACKEND_Response,
/// and a response factory is the request's sink, which outlives the request until kFinal; libtritonserver.so
/// (sdk/triton) serves that API as accessors to these objects.
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

/// Bits that say what a sent response is.
enum ResponseFlags : uint32_t {
  /// The response is the last one of its request.
  kFinal = 1,
  /// With kFinal: the response comes ahead of its bytes, which a device will write. All outputs with bytes
  /// are in memory with events that the sink gave (ResponseSink::allocate()) and that the sender has recorded
  /// behind its work. The sender releases the request when these events are reached, and not before. Such a
  /// response may come from inside of execute(), so its receiver must not begin other executions on that
  /// thread.
  kAhead = 2
};
/// Who gets a request that its holder is done with. kReleaseAll gives it back to its maker;
/// kReleaseReschedule gives it to its scheduler for a further execution. They have the meaning of Triton's
/// TRITONSERVER_REQUEST_RELEASE_ALL and _RESCHEDULE.
enum ReleaseFlags : uint32_t { kReleaseAll = 1, kReleaseReschedule = 2 };
/// Bits of Request::sequence_flags. With both of them the request is the only one of its sequence. They come
/// from the parameters sequence_start and sequence_end of a KServe request.
enum SequenceFlags : uint32_t { kSequenceStart = 1, kSequenceEnd = 2 };
/// Bits of Request::call_flags: what the admission services (atoll/request/execution_admission.h,
/// atoll/request/request_admission.h) and the statistics have to know of requests that the server itself
/// makes.
enum CallFlags : uint32_t {
  /// The request's execution holds resources of the execution admission. Set by the scheduler that executes
  /// it.
  kHoldsResources = 1,
  /// The execution that made this request holds such resources and waits for it. Set by set_parent().
  kCallerHoldsResources = 2,
  /// The request is made on behalf of another one, which was admitted. Set by set_parent().
  kIsStep = 4,
  /// The request is a copy of a client's request. Nobody sees its responses, and no statistics of requests
  /// count it.
  kShadow = 8
};

/// The correlation id of a sequence: none, a number other than 0, or a text of 1 to 128 bytes. The number 7
/// and the text "7" are different sequences. The text is borrowed, as every name in a request. It is the
/// parameter sequence_id of a KServe request.
struct SequenceId {
  uint64_t number = 0;
  std::string_view text;
  bool empty() const noexcept { return number == 0 && text.empty(); }
};

/// Compares two names. Names in requests are mostly borrowed from the model, so two equal ones are often the
/// same piece of memory, which is looked at first.
inline bool is_same_name(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && (a.data() == b.data() || a == b);
}

/// One output that the client asked for or, if the client named none, one of the model's. After validation
/// Request::outputs has each output at most once.
struct RequestedOutput {
  std::string_view name;
  /// Position in ModelInfo::outputs; set by validation.
  int32_t spec_index = -1;
  /// 0: the client gets the tensor itself. n: it gets the n highest values with their labels (parameter
  /// "classification" of the KServe output). The frontend makes these from the tensor, so backends need not
  /// look.
  uint32_t classification = 0;
  /// Where the client wants the bytes, in a region of shared memory that the frontend holds; data null:
  /// anywhere. The sink gives this memory in allocate(), so backends need not look.
  Buffer placement;
};
static_assert(sizeof(RequestedOutput) == 56);  // see ATOLL_SDK_LAYOUT

/// Implicit state of a sequence (`sequence_batching.state` of a configuration): tensors that the scheduler
/// keeps from one request of the sequence to the next. The scheduler adds the present values to the request
/// as inputs (InputTensor::kAddedByScheduler). The backend asks for a buffer by output(), fills it, and calls
/// commit():
///
///     Buffer next;
///     Status status =
///         request.state->output("S_OUT", DataType::kFp32, shape, bytes, MemoryKind::kCpu, 0, &next);
///     if (status.ok()) std::memcpy(next.data, values, bytes);
///     if (status.ok()) status = request.state->commit("S_OUT");
///
/// Request::state is null in requests of models without implicit state. Only the backend that executes the
/// request calls these functions, until it releases the request [instance]. Triton's C API has them as
/// TRITONBACKEND_StateNew, TRITONBACKEND_StateBuffer and TRITONBACKEND_StateUpdate.
class SequenceState {
 public:
  /// Whether the model has a state of this name, which is the state's `output_name` in the configuration.
  /// Errors: INVALID_ARGUMENT it has none.
  virtual Status check_name(std::string_view name) const noexcept = 0;
  /// Gives a buffer for the new value of state `name`. The backend may write to it until it commits it or
  /// releases the request. The shape is copied.
  /// \param buffer  set to memory of at least size_bytes, of the preferred kind if there is such memory: look
  /// at its kind
  /// Errors: INVALID_ARGUMENT the model has no such state, or the configuration gives it another type or
  /// shape; RESOURCE_EXHAUSTED there is no memory; INTERNAL a device failed.
  virtual Status output(std::string_view name, DataType datatype, std::span<const int64_t> shape,
                        uint64_t size_bytes, MemoryKind preferred_kind, int64_t preferred_device_id,
                        Buffer* buffer) noexcept = 0;
  /// Says that the buffer of `name` is complete: it becomes the input of the sequence's next request. A value
  /// that is not committed is dropped, and the next request gets the one before; where the configuration has
  /// use_same_buffer_for_input_output there is one buffer, and what is written to it counts without commit().
  /// Errors: INVALID_ARGUMENT output() has not given a buffer for this name.
  virtual Status commit(std::string_view name) noexcept = 0;

 protected:
  ~SequenceState() = default;
};

/// Who gets the responses of one request and gives memory for them: a frontend's context, or a scheduler or
/// cache that has put itself in front of it (atoll/request/sink_interposer.h). Request::sink may be replaced
/// between Model::infer() and the execution, so a backend reads it when it is called and not before.
///
/// Calls may come from any thread [any], but one at a time for one request. The calling thread is mostly an
/// instance's, with the rest of its batch to answer: a sink does in send() and released() what is quick, and
/// hands the rest to threads of its own.
class ResponseSink {
 public:
  /// Gives an empty response; never null. It belongs to the sink. The caller may use it until it is sent or
  /// discarded, and has to do one of the two.
  virtual Response* new_response() noexcept = 0;
  /// Sets output.buffer to memory of at least size_bytes, of the preferred kind if the sink can, else of
  /// another kind: the backend has to look at buffer.kind. Mostly called through Response::allocate(). Called
  /// once an output. size_bytes 0 is allowed. An output that the client wants in its shared memory gets that
  /// memory, which the sink finds by the output's name. If it is memory of a GPU and the backend prefers the
  /// CPU's, the sink gives CPU memory and copies the bytes there when the response is sent.
  ///
  /// Memory of a device may have an event in buffer.ready_after, which counts as reached. A backend that
  /// writes the output in a stream of the device may record this event in that stream, behind the work, and
  /// then send the response ahead (kAhead). All others leave the event alone.
  /// Errors: RESOURCE_EXHAUSTED there is no memory, or all requests together would take too much
  /// (atoll/memory/request_memory.h). INTERNAL or INVALID_ARGUMENT, depending on the sink: the client's own
  /// memory is too small.
  virtual Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes,
                          MemoryKind preferred_kind, int64_t preferred_device_id) noexcept = 0;
  /// Takes the response; the caller must not touch it any more. With a null response only the flags count: a
  /// decoupled model ends so without data. Nothing may be sent after kFinal; the sink discards what comes
  /// nevertheless.
  /// \param flags  ResponseFlags
  virtual void send(Response* response, uint32_t flags) noexcept = 0;
  /// Drops a response that will not be sent, with the memory of its outputs.
  virtual void discard(Response* response) noexcept = 0;
  /// Called by Request::release(): nobody behind the sink uses the request any more, so the bytes of its
  /// inputs may go. If the final response has been sent, too, the request may be used again before this
  /// returns.
  virtual void released(Request& request) noexcept = 0;

 protected:
  ~ResponseSink() = default;
};

/// Implemented by the scheduler of an iterative sequence (`iterative_sequence` of a configuration).
/// release(kReleaseReschedule) hands it a request that is not finished, and it executes the request again in
/// a later batch: so a model that generates token by token shares each step among several requests
/// (continuous batching).
class Rescheduler {
 public:
  /// Takes the request over. On failure the caller still owns it and has to answer it. [instance]
  virtual Status reschedule(Request& request) noexcept = 0;

 protected:
  ~Rescheduler() = default;
};

/// Moments of one request by the host's steady clock (Clock::now_ns()), in nanoseconds; 0: not reached.
struct RequestTimes {
  /// When Model::infer() was entered; durations in statistics begin here.
  int64_t start_ns = 0;
  /// When the request was handed to the scheduler; the queue time begins here.
  int64_t queue_start_ns = 0;
  /// The moment after which the client does not wait any more (gRPC's deadline); 0: none. Set by the
  /// frontend.
  int64_t deadline_ns = 0;
};

/// What the scheduler that holds a request notes in the request itself, so that queueing it allocates
/// nothing. All members are null or 0 when a scheduler gets the request. Until it hands the request on they
/// are that scheduler's alone, read and written under its lock. Nobody else gives them a meaning.
struct SchedulerLinks {
  /// The request before this one in its queue; the one behind it is Request::next.
  Request* previous = nullptr;
  /// The queue that the request is in; null: none.
  const void* queue = nullptr;
  /// The priority level in which the request waits; null: none.
  void* level = nullptr;
  /// Its place among the requests that have a time limit (a heap), from 1 on; 0: it has none.
  uint64_t deadline_place = 0;
  /// The sequence that the request belongs to.
  void* sequence = nullptr;
  /// Free for whatever else a scheduler has to note.
  void* scheduler_data = nullptr;
};

/// One inference request. It is used by one holder at a time, on any thread, without a lock: handing it on
/// hands all of it on. Only its cancellation may be used by other threads beside the holder.
///
/// The structs in its lists, and whatever they point to that is not borrowed from the model or from buffers
/// of the frontend, lie in its arena. They are valid until sink->released() was called and the maker resets
/// the request.
class Request {
 public:
  Request() noexcept = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // --- set by the maker; names and ids are NUL-terminated ---
  /// The client's id of the request ("id" in KServe V2); empty: none.
  std::string_view id;
  /// The model version that answers; borrowed from the ModelRef that the maker holds.
  Model* model = nullptr;
  SequenceId sequence;
  uint32_t sequence_flags = 0;  ///< SequenceFlags
  uint32_t call_flags = 0;      ///< CallFlags
  /// 1 is the highest level; 0: the model's default level. Parameter "priority" of a KServe request.
  uint64_t priority = 0;
  /// The longest time in a queue, in microseconds, that the client asks for; 0: none. Parameter "timeout" of
  /// a KServe request. It counts only where the model's queue policy allows it, see
  /// atoll/request/scheduler.h.
  uint64_t timeout_us = 0;
  /// On whose account the request is: the value of the header that the frontends' option tenant_header names;
  /// empty: none. Clients can write such a header themselves, so a proxy has to set it where it is to be
  /// trusted.
  std::string_view tenant;
  /// Who asks, as access control found out (atoll/frontend/access.h); empty: not known.
  std::string_view caller;
  ArenaList<InputTensor> inputs;
  /// The outputs that the client wants. Empty means all of the model's; Model::infer() then lists them, so
  /// schedulers and backends find at least one here.
  ArenaList<RequestedOutput> outputs;
  ArenaList<Parameter> parameters;
  /// Who gets the responses. It outlives the request until it has got kFinal.
  ResponseSink* sink = nullptr;
  /// Null for most requests: they are not traced.
  Trace* trace = nullptr;
  /// Cancelled by the frontend when the client has gone or the deadline has passed.
  Cancellation cancellation;
  /// Where the statistics write, before the request is released, the times that they count for it
  /// (atoll/request/statistics.h). An ensemble adds its steps up with these. An answer of the response cache
  /// writes zeros. Null: nobody asks. Left alone if the request fails or is not executed otherwise.
  ExecutionTimes* execution_times = nullptr;

  // --- set on the way ---
  /// The first dimension of the inputs if the model batches, else 0. Set by validation.
  uint32_t batch_size = 0;
  /// If the request is refused but may be tried again: after how many milliseconds at the earliest. 0:
  /// nothing is known. Set it before the failure is returned or sent; it is valid as long as the request.
  /// HTTP frontends send it as the header Retry-After, gRPC frontends as the trailing metadata retry-after
  /// and grpc-retry-pushback-ms.
  uint32_t retry_after_ms = 0;
  RequestTimes times;
  /// Set by the scheduler of a model with implicit state; else null.
  SequenceState* state = nullptr;
  /// Set by the scheduler of an iterative sequence; else null.
  Rescheduler* rescheduler = nullptr;
  /// A link for whoever has the request in a queue; only the present holder uses it.
  Request* next = nullptr;
  SchedulerLinks links;

  /// How many items of a batch the request makes up: at least 1, also where the model does not batch.
  uint32_t batch_weight() const noexcept { return batch_size == 0 ? 1 : batch_size; }
  /// May be called from any thread [any].
  bool cancelled() const noexcept { return cancellation.cancelled(); }
  /// Memory for what lives as long as the request. Only its present holder may allocate.
  Arena& arena() noexcept { return arena_; }

  /// Returns the input of this name; null if there is none. Looks at one input after the other.
  const InputTensor* find_input(std::string_view name) const noexcept {
    for (const InputTensor& input : inputs) {
      if (input.name == name) return &input;
    }
    return nullptr;
  }
  /// Returns the output of this name among those that were asked for; null if it was not asked for.
  /// \param guess  position in `outputs` that is looked at first: a backend that makes outputs in the model's
  /// order passes how many it has made
  const RequestedOutput* find_output(std::string_view name, size_t guess = 0) const noexcept {
    if (guess < outputs.size() && is_same_name(outputs[guess].name, name)) return &outputs[guess];
    for (const RequestedOutput& output : outputs) {
      if (is_same_name(output.name, name)) return &output;
    }
    return nullptr;
  }
  /// For the maker of the request, which fills the result in. The reference holds until the next item of its
  /// kind is added. There is no limit here: a maker that reads from outside has to bound how many it adds.
  InputTensor& add_input() noexcept { return inputs.add(arena_); }
  RequestedOutput& add_output() noexcept { return outputs.add(arena_); }
  Parameter& add_parameter() noexcept { return parameters.add(arena_); }

  /// For a request that the execution of `parent` makes, if that execution does not end before this request
  /// is answered. Such a request is not asked for admission again, and does not wait for resources that its
  /// caller holds. Call it before Model::infer().
  void set_parent(const Request& parent) noexcept {
    call_flags |= kIsStep;
    if ((parent.call_flags & (kHoldsResources | kCallerHoldsResources)) != 0)
      call_flags |= kCallerHoldsResources;
  }

  /// Ends the holder's use of the request. With kReleaseAll, which cannot fail, the request must not be
  /// touched afterwards: report its statistics and read what you need of it before. Send its final response
  /// before or after, on any thread.
  ///
  /// With kReleaseReschedule the request goes back to its scheduler for another execution.
  /// Errors: INVALID_ARGUMENT the model's scheduler is not one of iterative sequences, or those of
  /// Rescheduler::reschedule(); the caller still owns the request then.
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

  /// Makes the object ready for the next request and keeps its arena's first block. Only its maker calls
  /// this, after the end of the request.
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

/// One response while it is built and sent. Used by one thread at a time, mostly the instance's [instance].
/// The sink that made it owns it.
///
/// Outputs are known by their names. A response has an output at most once; otherwise the sink answers the
/// client with an INTERNAL error. An output that is not among Request::outputs gets memory, but no other
/// output's, and is left out of what the client gets: a backend should not make it. Triton's C API calls a
/// Response a TRITONBACKEND_Response.
class Response {
 public:
  Response() noexcept = default;
  Response(const Response&) = delete;
  Response& operator=(const Response&) = delete;

  /// Added by add_output(); outputs.size() is how many there are.
  ArenaList<OutputTensor> outputs;
  ArenaList<Parameter> parameters;
  /// Not OK: the client gets this failure, and outputs are not looked at. See send_error().
  Status error;
  /// Set by the sink that made the response; send() and allocate() go there.
  ResponseSink* sink = nullptr;
  /// A link for whoever has the response in a queue.
  Response* next = nullptr;

  /// Memory for what lives as long as the response, which is until it is sent or discarded.
  Arena& arena() noexcept { return arena_; }

  /// Adds an output that was asked for. Then allocate() gives it its buffer. The reference holds until the
  /// next output is added, so allocate and fill one output before adding the next.
  /// \param wanted  one of Request::outputs; its name is borrowed
  /// \param shape  with the batch dimension if the model batches; copied
  OutputTensor& add_output(const RequestedOutput& wanted, DataType datatype,
                           std::span<const int64_t> shape) noexcept {
    OutputTensor& output = outputs.add(arena_);
    output.name = wanted.name;  // lives as long as the request, and so as what answers it
    output.datatype = datatype;
    output.shape = arena_.copy(shape);
    return output;
  }
  /// The same for a name, which is copied. Request::find_output() says whether it was asked for.
  OutputTensor& add_output(std::string_view name, DataType datatype,
                           std::span<const int64_t> shape) noexcept {
    RequestedOutput named;
    named.name = arena_.copy_text(name);
    return add_output(named, datatype, shape);
  }
  /// Gets memory for the output, in output.buffer; see ResponseSink::allocate(). The buffer's kind may differ
  /// from the preferred one.
  /// Errors: those of ResponseSink::allocate(); INTERNAL `output` is not one of `outputs`, or another output
  /// was added after it.
  Status allocate(OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind = MemoryKind::kCpu,
                  int64_t preferred_device_id = 0) noexcept {
    if (!outputs.holds(output)) {
      return internal_error("output '", output.name,
                            "' is no longer where it was: its memory must be allocated before the next "
                            "output is added to the response");
    }
    return sink->allocate(*this, output, size_bytes, preferred_kind, preferred_device_id);
  }
  /// Gives the response to the sink; do not touch it afterwards. The flags are ResponseFlags; those of a
  /// decoupled model's responses before the last are 0.
  void send(uint32_t flags = kFinal) noexcept { sink->send(this, flags); }
  /// Sends the response as a failure of the request; outputs are not looked at. Do not touch it afterwards.
  void send_error(Status failure, uint32_t flags = kFinal) noexcept {
    error = std::move(failure);
    sink->send(this, flags);
  }
  /// Makes the object ready for the next response. Only the sink that made it calls this.
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

/// Answers a request with a failure and releases it: what a holder does that cannot go on. The request must
/// not be touched afterwards. Statistics are not reported here: call InferenceReporter::report_failure()
/// before.
inline void fail_request(Request& request, Status failure) noexcept {
  ResponseSink* sink = request.sink;
  Response* response = sink->new_response();
  response->error = std::move(failure);
  sink->send(response, kFinal);
  (void)request.release(kReleaseAll).ok();
}

}  // namespace atl
