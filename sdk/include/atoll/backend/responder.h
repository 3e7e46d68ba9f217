/// Answering the requests of a batch: each exactly once, with its statistics, whatever went wrong with it.
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
/// One that runs the batch as a whole does the steps by itself:
///
///     responder_.begin(batch);                       // from here on execute() returns OK
///     for (uint32_t i = 0; i < responder_.size(); ++i) {
///       ... responder_.fail(i, status) or responder_.add_output(i, ...) and write the bytes
///     }
///     responder_.finish(times);
///
/// One whose requests take several executions says reschedule(i) of those that are not ready.
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

/// Collects the outcome of every request of one batch and then answers all of them. Use one an instance and
/// begin() it for each batch (its memory is kept), or, where answers come after execute() returned, one a
/// batch. Not thread safe.
class BatchResponder {
 public:
  /// \param reporter   of the instance; null: nothing is reported.
  /// \param decoupled  the model's transaction policy: the final flag then follows the data response.
  explicit BatchResponder(InferenceReporter* reporter, bool decoupled = false) noexcept
      : reporter_(reporter), decoupled_(decoupled) {}
  BatchResponder(const BatchResponder&) = delete;
  BatchResponder& operator=(const BatchResponder&) = delete;
  /// Whatever was begun and not finished is answered with an INTERNAL error.
  inline ~BatchResponder();

  /// begin(), answer(i) for each request i that is not cancelled, finish(): the whole of an execution.
  /// \param answer  Status(uint32_t i): adds the outputs of request i, or says why it cannot. What it throws
  ///                is an INTERNAL error of that request.
  template <class Answer>
  void answer_each(const Batch& batch, const Clock& clock, Answer&& answer) noexcept;

  /// Takes the requests of the batch. The span need not outlive the call.
  inline void begin(const Batch& batch);

  uint32_t size() const noexcept { return static_cast<uint32_t>(entries_.size()); }
  Request& request(uint32_t i) noexcept { return *entries_[i].request; }
  bool failed(uint32_t i) const noexcept { return !entries_[i].error.ok(); }
  /// Request i will be answered with this failure instead of its outputs. The first failure stays.
  void fail(uint32_t i, Status failure) noexcept {
    if (entries_[i].error.ok()) entries_[i].error = std::move(failure);
  }
  /// Request i goes back to its scheduler for another execution instead of being answered (iterative
  /// sequences). Outputs that it was given are a response of a decoupled model, and are dropped otherwise:
  /// such a request has one response, with its last execution. A failure stays, and one it becomes if its
  /// model is not iterative.
  void reschedule(uint32_t i) { rescheduled_.push_back(i); }
  /// Fails every request that has not failed yet.
  inline void fail_all(const Status& failure) noexcept;

  /// Adds an output that request i asks for and gets memory for it, of any kind the sink gives: check
  /// buffer.kind before writing. On failure the request is failed and null is returned. The pointer is valid
  /// until the next output of the same request.
  /// \param wanted  one of request(i).outputs, each at most once
  inline OutputTensor* add_output(uint32_t i, const RequestedOutput& wanted, DataType datatype,
                                  std::span<const int64_t> shape, uint64_t size_bytes,
                                  MemoryKind preferred_kind = MemoryKind::kCpu,
                                  int64_t preferred_device_id = 0);
  /// The same with its elements. Where the memory that the sink gives is not the CPU's, the request is
  /// failed.
  template <class T>
  void add_values(uint32_t i, const RequestedOutput& wanted, std::span<const int64_t> shape,
                  std::span<const T> values);
  /// The same with elements of BYTES. \param texts  a range of what converts to std::string_view
  template <class Texts>
  void add_texts(uint32_t i, const RequestedOutput& wanted, std::span<const int64_t> shape,
                 const Texts& texts);

  /// Sends the response of request i ahead (kAhead); it has one, has not failed, and its model is not decoupled.
  /// Nothing of its outputs may be touched afterwards. finish() releases it; a failure until then is only counted.
  inline void answer_ahead(uint32_t i) noexcept;

  /// Reports statistics, sends every response and releases or reschedules every request. None may be touched
  /// afterwards. Statistics come before the answer, so a client that has its answer finds itself counted. A
  /// batch in which every request failed does not count as an execution; CANCELLED counts as canceled, any
  /// other failure as the backend's.
  inline void finish(const ExecutionTimes& times) noexcept;

 private:
  struct Entry {
    Request* request = nullptr;
    Response* response = nullptr;  ///< made with the first output
    Status error;
    bool answered = false;  ///< ahead
  };
  /// As add_output, of memory that the CPU may write.
  inline OutputTensor* add_host_output(uint32_t i, const RequestedOutput& wanted, DataType datatype,
                                       std::span<const int64_t> shape, uint64_t size_bytes);
  inline void report(const Entry& entry, const ExecutionTimes& times) noexcept;
  inline void answer(Entry& entry) noexcept;
  inline void answer_all(const ExecutionTimes& times, uint32_t executed) noexcept;
  inline void answer_or_give_back(const ExecutionTimes& times) noexcept;
  inline void give_back(Entry& entry, const ExecutionTimes& times) noexcept;

  std::vector<Entry> entries_;
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
  times.execute_start_ns = times.compute_start_ns = clock.now_ns();
  begin(batch);
  for (uint32_t i = 0; i < size(); ++i) {
    if (request(i).cancelled()) {
      fail(i, Status(Code::kCancelled, {}));
      continue;
    }
    try {
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
  Entry& entry = entries_[i];
  if (entry.response == nullptr) entry.response = entry.request->sink->new_response();
  OutputTensor& output = entry.response->add_output(wanted, datatype, shape);
  Status status = entry.response->allocate(output, size_bytes, preferred_kind, preferred_device_id);
  if (!status.ok()) {
    fail(i, std::move(status));
    return nullptr;
  }
  return &output;
}

OutputTensor* BatchResponder::add_host_output(uint32_t i, const RequestedOutput& wanted, DataType datatype,
                                              std::span<const int64_t> shape, uint64_t size_bytes) {
  OutputTensor* output = add_output(i, wanted, datatype, shape, size_bytes);
  if (output == nullptr || size_bytes == 0 || is_host_memory(output->buffer.kind)) return output;
  fail(i, internal_error("output '", wanted.name, "': found a buffer in GPU memory, expected CPU memory"));
  return nullptr;
}

template <class T>
void BatchResponder::add_values(uint32_t i, const RequestedOutput& wanted, std::span<const int64_t> shape,
                                std::span<const T> values) {
  OutputTensor* output = add_host_output(i, wanted, data_type_of<T>(), shape, values.size_bytes());
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

void BatchResponder::report(const Entry& entry, const ExecutionTimes& times) noexcept {
  if (entry.error.code() == Code::kCancelled) {
    reporter_->report_failure(*entry.request, FailureReason::kCanceled);
  } else {
    reporter_->report_request(*entry.request, entry.error.ok(), times);
  }
}

void BatchResponder::answer_ahead(uint32_t i) noexcept {
  entries_[i].answered = true;
  entries_[i].response->send(kFinal | kAhead);
}

void BatchResponder::answer(Entry& entry) noexcept {
  Request& request = *entry.request;
  if (entry.answered) {
    (void)request.release().ok();
    return;
  }
  if (!entry.error.ok()) {
    if (entry.response != nullptr) request.sink->discard(entry.response);
    fail_request(request, std::move(entry.error));
    return;
  }
  ResponseSink* sink = request.sink;
  if (entry.response == nullptr) entry.response = sink->new_response();
  entry.response->send(decoupled_ ? 0u : static_cast<uint32_t>(kFinal));
  if (decoupled_) sink->send(nullptr, kFinal);
  (void)request.release().ok();
}

void BatchResponder::finish(const ExecutionTimes& times) noexcept {
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
    if (executed != 0) reporter_->report_batch(executed, times);
  }
  for (Entry& entry : entries_) answer(entry);
  entries_.clear();
}

void BatchResponder::answer_or_give_back(const ExecutionTimes& times) noexcept {
  std::vector<Entry> going_back;
  uint32_t executed = 0;
  for (uint32_t i : rescheduled_) {
    if (entries_[i].request == nullptr || failed(i)) continue;
    executed += entries_[i].request->batch_weight();
    going_back.push_back(std::move(entries_[i]));
    entries_[i].request = nullptr;
  }
  std::erase_if(entries_, [](const Entry& entry) { return entry.request == nullptr; });
  rescheduled_.clear();
  answer_all(times, executed);
  for (Entry& entry : going_back) give_back(entry, times);
}

void BatchResponder::give_back(Entry& entry, const ExecutionTimes& times) noexcept {
  Request& request = *entry.request;
  if (Response* response = std::exchange(entry.response, nullptr); response != nullptr) {
    if (decoupled_) {
      response->send(0);
    } else {
      request.sink->discard(response);
    }
  }
  entry.error = request.release(kReleaseReschedule);
  if (entry.error.ok()) return;
  if (reporter_ != nullptr) report(entry, times);
  answer(entry);
}

}  // namespace atl::backends
