/// Answering the requests of a batch: each exactly once, with its statistics, whatever went wrong with it.
///
/// What BackendInstance::execute() owes (atoll/backend/backend.h) is the same for every backend: a final
/// response for each request, a release for each, and the report to the statistics before them, also when one
/// request is bad or the whole batch fails. BatchResponder keeps these in order, so a backend is left with
/// its own work.
///
/// A backend whose requests do not depend on each other is complete with answer_each():
///
///     Status execute(const Batch& batch) noexcept override {
///       responder_.answer_each(batch, clock_, [this](uint32_t i) { return answer(i); });
///       return {};
///     }
///     Status answer(uint32_t i) {
///       Request& request = responder_.request(i);
///       ...
///       for (const RequestedOutput& wanted : request.outputs) {
///         if (wanted.name == "SUM") responder_.add_values<float>(i, wanted, shape, sums);
///       }
///       return {};
///     }
///
/// A backend that runs the batch as a whole takes the steps by itself:
///
///     responder_.begin(batch);                       // from here on execute() returns OK
///     for (uint32_t i = 0; i < responder_.size(); ++i) {
///       ... responder_.fail(i, status) or responder_.add_output(i, ...) and write the bytes
///     }
///     responder_.finish(times);
///
/// What becomes of request i:
///
///     what the backend did                  the client gets             the request counts as
///     added outputs, or none                a response with them        a success
///     fail(i, CANCELLED), cancelled before  CANCELLED                   canceled
///     fail(i, any other), or it threw       that failure                failed, reason BACKEND
///     reschedule(i)                         nothing yet, see there      nothing yet
///
/// The times are those of the whole batch (atoll/request/statistics.h):
///
///     ExecutionTimes times;
///     times.execute_start_ns = clock.now_ns();
///     ... copy the inputs
///     times.compute_start_ns = clock.now_ns();
///     ... run the model
///     times.compute_end_ns = clock.now_ns();
///     ... add the outputs and write them
///     times.execute_end_ns = clock.now_ns();
///
/// A backend whose requests take several executions (`iterative_sequence`) calls reschedule(i) for those that
/// are not ready.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/bytes.h"
#include "atoll/backend/values.h"
#include "atoll/core/clock.h"
#include "atoll/core/status.h"
#include "atoll/request/request.h"
#include "atoll/request/statistics.h"

namespace atl::backends {

/// Collects the outcome of every request of one batch, and then answers all of them. In the parameters, i is
/// the request's position in the batch, from 0 on.
///
/// An instance that answers inside execute() has one responder and calls begin() for each batch; its memory
/// is kept. Where answers come after execute() has returned, each batch has a responder of its own. Not
/// thread safe.
class BatchResponder {
 public:
  /// \param reporter   InstanceSpec::reporter; null: nothing is reported
  /// \param decoupled  ModelDescription::decoupled: the final flag then follows the data in a send of its own
  explicit BatchResponder(InferenceReporter* reporter, bool decoupled = false) noexcept
      : reporter_(reporter), decoupled_(decoupled) {}
  BatchResponder(const BatchResponder&) = delete;
  BatchResponder& operator=(const BatchResponder&) = delete;
  /// Answers what was begun and not finished with an INTERNAL error, so no client waits for ever.
  inline ~BatchResponder();

  /// The whole of an execution: begin(); answer(i) for each request i that is not cancelled; finish(). A
  /// cancelled request is answered CANCELLED. The time from the call to the last answer() is reported as
  /// computing.
  /// \param answer  Status(uint32_t i): adds the outputs of request i, or says why it cannot. An exception
  /// becomes an INTERNAL error of that request
  template <class Answer>
  void answer_each(const Batch& batch, const Clock& clock, Answer&& answer) noexcept;

  /// Takes the requests of the batch: from here on they are this object's to answer, and execute() has to
  /// return OK. The span need not outlive the call.
  inline void begin(const Batch& batch);

  /// Requests of the batch that was begun; 0 before begin() and after finish().
  uint32_t size() const noexcept { return static_cast<uint32_t>(entries_.size()); }
  Request& request(uint32_t i) noexcept { return *entries_[i].request; }
  /// Whether fail(), fail_all() or an output without memory has made request i a failure.
  bool failed(uint32_t i) const noexcept { return !entries_[i].error.ok(); }
  /// Has request i answered with this failure instead of its outputs. The first failure stays. A failure of
  /// Code::kCancelled counts as a cancellation.
  void fail(uint32_t i, Status failure) noexcept {
    if (entries_[i].error.ok()) entries_[i].error = std::move(failure);
  }
  /// Has request i given back to its scheduler for another execution (iterative sequences) instead of
  /// answered. If its model is decoupled, the outputs that it was given so far are sent as a response now;
  /// otherwise they are dropped, because such a request has one response, with its last execution. A request
  /// that has failed is answered with its failure all the same. If the model is not iterative, the request
  /// fails.
  void reschedule(uint32_t i) { rescheduled_.push_back(i); }
  /// Fails every request that has not failed yet.
  inline void fail_all(const Status& failure) noexcept;

  /// Adds an output that request i asks for and gets memory for it: write the tensor to `buffer` of the
  /// result. The memory is of the preferred kind if the sink has such, else of another, so look at
  /// buffer.kind before writing; add_values() and add_texts() do so. The pointer is valid until the next
  /// output of the same request.
  ///
  ///     OutputTensor* y = responder.add_output(i, wanted, DataType::kFp32, shape, bytes, MemoryKind::kGpu, device);
  ///     if (y == nullptr) continue;  // request i has failed
  ///     copy_from_device(y->buffer, rows_of(i));
  ///
  /// \param wanted  one of request(i).outputs, each at most once
  /// \param shape  the request's part, with its batch size in front if the model batches; copied
  /// \returns null if there is no memory; request i has failed then.
  inline OutputTensor* add_output(uint32_t i, const RequestedOutput& wanted, DataType datatype,
                                  std::span<const int64_t> shape, uint64_t size_bytes,
                                  MemoryKind preferred_kind = MemoryKind::kCpu,
                                  int64_t preferred_device_id = 0);
  /// Adds an output with its elements, which are copied. Fails the request if the sink gives memory that the
  /// CPU cannot write.
  /// \param values  as many as the shape says; the caller sees to that
  template <class T>
  void add_values(uint32_t i, const RequestedOutput& wanted, std::span<const int64_t> shape,
                  std::span<const T> values);
  /// The same with elements of BYTES. \param texts  a range of anything that converts to std::string_view
  template <class Texts>
  void add_texts(uint32_t i, const RequestedOutput& wanted, std::span<const int64_t> shape,
                 const Texts& texts);

  /// The response of request i, for what the functions above do not add, such as parameters. Nobody gets it if
  /// the request fails.
  inline Response& response(uint32_t i);

  /// Sends the response of request i before its bytes are there (kAhead in atoll/request/request.h). The
  /// request has a response, has not failed, and its model is not decoupled; its outputs must not be touched
  /// afterwards. Call finish() when the device has written the outputs: it releases the request. A failure
  /// until then is only counted.
  inline void answer_ahead(uint32_t i) noexcept;

  /// Reports statistics, then sends every response, then releases or reschedules every request. None may be
  /// touched afterwards. As the statistics come first, a client that has its answer finds itself counted. A
  /// batch in which every request has failed does not count as an execution. A request that failed with
  /// CANCELLED counts as canceled, with any other code as the backend's failure.
  /// \param times  of the whole batch; each of its requests is counted with them
  inline void finish(const ExecutionTimes& times) noexcept;

 private:
  /// One request of the batch.
  struct Entry {
    Request* request = nullptr;
    /// Made with the first output; null: the request has none.
    Response* response = nullptr;
    /// Not OK: what the request is answered with.
    Status error;
    /// answer_ahead() has sent the response.
    bool answered = false;
  };
  /// As add_output(), but the request fails if the CPU cannot write to the memory.
  inline OutputTensor* add_host_output(uint32_t i, const RequestedOutput& wanted, DataType datatype,
                                       std::span<const int64_t> shape, uint64_t size_bytes);
  /// To the statistics.
  inline void report(const Entry& entry, const ExecutionTimes& times) noexcept;
  /// Sends the response, or the failure, and releases the request.
  inline void answer(Entry& entry) noexcept;
  /// Reports all entries, then answers all of them.
  inline void answer_all(const ExecutionTimes& times, uint32_t executed) noexcept;
  /// finish() of a batch in which reschedule() was called.
  inline void answer_or_give_back(const ExecutionTimes& times) noexcept;
  /// Sends what there is of a decoupled model's request, and hands the request to its scheduler.
  inline void give_back(Entry& entry, const ExecutionTimes& times) noexcept;

  /// In the order of the batch.
  std::vector<Entry> entries_;
  /// Positions that reschedule() was called with.
  std::vector<uint32_t> rescheduled_;
  InferenceReporter* reporter_;
  bool decoupled_;
};

// --- implementation ---

BatchResponder::~BatchResponder() {
  if (entries_.empty()) return;
  fail_all(internal_error("the backend dropped a batch without answering it"));
  finish({});
}

template <class Answer>
void BatchResponder::answer_each(const Batch& batch, const Clock& clock, Answer&& answer) noexcept {
  ExecutionTimes times;
  // One backend call makes all of a request's outputs, so the phases before and after it have no length.
  times.execute_start_ns = times.compute_start_ns = clock.now_ns();
  begin(batch);
  for (uint32_t i = 0; i < size(); ++i) {
    // Nobody waits for the answer, so nothing is computed for it.
    if (request(i).cancelled()) {
      fail(i, Status(Code::kCancelled, {}));
      continue;
    }
    try {
      // Nothing may be thrown out of execute(), and one request must not take the others with it.
      if (Status status = answer(i); !status.ok()) fail(i, std::move(status));
    } catch (const std::exception& error) {
      fail(i, internal_error("the backend threw: ", error.what()));
    } catch (...) {
      fail(i, internal_error("the backend threw something that is not a std::exception"));
    }
  }
  times.compute_end_ns = times.execute_end_ns = clock.now_ns();
  finish(times);
}

void BatchResponder::begin(const Batch& batch) {
  entries_.clear();
  rescheduled_.clear();
  entries_.reserve(batch.requests.size());
  // No response is made yet: one that fails needs none of its own.
  for (Request* request : batch.requests) entries_.push_back({request, nullptr, {}, false});
}

void BatchResponder::fail_all(const Status& failure) noexcept {
  for (Entry& entry : entries_) {
    if (entry.error.ok()) entry.error = failure.clone();
  }
}

OutputTensor* BatchResponder::add_output(uint32_t i, const RequestedOutput& wanted, DataType datatype,
                                         std::span<const int64_t> shape, uint64_t size_bytes,
                                         MemoryKind preferred_kind, int64_t preferred_device_id) {
  // A request that fails before its first output needs no response of its own: fail_request() makes one.
  Response& made = response(i);
  OutputTensor& output = made.add_output(wanted, datatype, shape);
  // At once, because the reference is valid only until the next output is added.
  Status status = made.allocate(output, size_bytes, preferred_kind, preferred_device_id);
  if (!status.ok()) {
    fail(i, std::move(status));
    return nullptr;
  }
  return &output;
}

OutputTensor* BatchResponder::add_host_output(uint32_t i, const RequestedOutput& wanted, DataType datatype,
                                              std::span<const int64_t> shape, uint64_t size_bytes) {
  OutputTensor* output = add_output(i, wanted, datatype, shape, size_bytes);
  // An output without bytes is right in any memory.
  if (output == nullptr || size_bytes == 0 || is_host_memory(output->buffer.kind)) return output;
  // The sink chooses the memory. A backend that writes with the CPU cannot use a GPU's.
  fail(i, internal_error("output '", wanted.name, "': found a buffer in GPU memory, expected CPU memory"));
  return nullptr;
}

template <class T>
void BatchResponder::add_values(uint32_t i, const RequestedOutput& wanted, std::span<const int64_t> shape,
                                std::span<const T> values) {
  OutputTensor* output = add_host_output(i, wanted, data_type_of<T>(), shape, values.size_bytes());
  // memcpy must not be given null, even for nothing.
  if (output == nullptr || values.empty()) return;
  std::memcpy(output->buffer.data, values.data(), values.size_bytes());
}

template <class Texts>
void BatchResponder::add_texts(uint32_t i, const RequestedOutput& wanted, std::span<const int64_t> shape,
                               const Texts& texts) {
  OutputTensor* output = add_host_output(i, wanted, DataType::kBytes, shape, encoded_size_bytes(texts));
  if (output == nullptr) return;
  Status status = encode_texts(texts, output->buffer);
  if (!status.ok()) fail(i, std::move(status).note(cat("output '", wanted.name, "'")));
}

Response& BatchResponder::response(uint32_t i) {
  Entry& entry = entries_[i];
  if (entry.response == nullptr) entry.response = entry.request->sink->new_response();
  return *entry.response;
}

void BatchResponder::report(const Entry& entry, const ExecutionTimes& times) noexcept {
  // A cancellation is not the backend's failure, and counts as a request that was not executed.
  if (entry.error.code() == Code::kCancelled) {
    reporter_->report_failure(*entry.request, FailureReason::kCanceled);
  } else {
    reporter_->report_request(*entry.request, entry.error.ok(), times);
  }
}

void BatchResponder::answer_ahead(uint32_t i) noexcept {
  // Before the send: another thread may go on with the response as soon as it is sent.
  entries_[i].answered = true;
  entries_[i].response->send(kFinal | kAhead);
}

void BatchResponder::answer(Entry& entry) noexcept {
  Request& request = *entry.request;
  // Its response is with the sink; the device has written its outputs, so only the release is missing.
  if (entry.answered) {
    (void)request.release().ok();
    return;
  }
  if (!entry.error.ok()) {
    // Outputs that were made before the failure do not reach the client.
    if (entry.response != nullptr) request.sink->discard(entry.response);
    fail_request(request, std::move(entry.error));
    return;
  }
  // Read before the final response is sent; after the release below the request may be in its next use.
  ResponseSink* sink = request.sink;
  // A request may ask for no output that this backend makes; it is answered all the same.
  if (entry.response == nullptr) entry.response = sink->new_response();
  // A decoupled model's data and its end are two sends.
  entry.response->send(decoupled_ ? 0u : static_cast<uint32_t>(kFinal));
  if (decoupled_) sink->send(nullptr, kFinal);
  (void)request.release().ok();
}

void BatchResponder::finish(const ExecutionTimes& times) noexcept {
  // Most backends never reschedule, and pay one comparison for it.
  if (rescheduled_.empty()) {
    answer_all(times, 0);
  } else {
    answer_or_give_back(times);
  }
}

/// \param executed  batch weights that were executed beside those of the entries
void BatchResponder::answer_all(const ExecutionTimes& times, uint32_t executed) noexcept {
  if (reporter_ != nullptr) {
    for (const Entry& entry : entries_) {
      if (entry.error.ok()) executed += entry.request->batch_weight();
      report(entry, times);
    }
    // Failed requests were not computed. If all have failed there was no execution.
    if (executed != 0) reporter_->report_batch(executed, times);
  }
  // Only now, so that whoever has an answer is counted already.
  for (Entry& entry : entries_) answer(entry);
  entries_.clear();
}

void BatchResponder::answer_or_give_back(const ExecutionTimes& times) noexcept {
  std::vector<Entry> going_back;
  uint32_t executed = 0;
  for (uint32_t i : rescheduled_) {
    // Named a second time, so it is in going_back already; or failed, and answered with the others.
    if (entries_[i].request == nullptr || failed(i)) continue;
    // The execution counts in its batch now; the request itself with its last execution.
    executed += entries_[i].request->batch_weight();
    going_back.push_back(std::move(entries_[i]));
    entries_[i].request = nullptr;
  }
  // What goes back is not answered.
  std::erase_if(entries_, [](const Entry& entry) { return entry.request == nullptr; });
  rescheduled_.clear();
  answer_all(times, executed);
  // Last, because a scheduler may execute a request again as soon as it has it.
  for (Entry& entry : going_back) give_back(entry, times);
}

void BatchResponder::give_back(Entry& entry, const ExecutionTimes& times) noexcept {
  Request& request = *entry.request;
  // The next execution makes a response of its own.
  if (Response* response = std::exchange(entry.response, nullptr); response != nullptr) {
    if (decoupled_) {
      response->send(0);
    } else {
      // Such a request has one response: that of its last execution.
      request.sink->discard(response);
    }
  }
  // If it goes well the request belongs to its scheduler, and must not be touched.
  entry.error = request.release(kReleaseReschedule);
  if (entry.error.ok()) return;
  if (reporter_ != nullptr) report(entry, times);
  answer(entry);
}

}  // namespace atl::backends
