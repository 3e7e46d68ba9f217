/// Answering the requests of a batch: each exactly once, with its statistics, whatever went wrong with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "atoll/backend.h"
#include "atoll/request.h"
#include "atoll/statistics.h"
#include "atoll/status.h"

namespace atl::backends {

/// Collects the outcome of every request of one batch and then answers all of them. Use one an instance and
/// begin() it for each batch (its memory is kept), or, where answers come after execute() returned, one a
/// batch. Not thread safe.
///
///     responder.begin(batch);                       // from here on execute() returns OK
///     for (uint32_t i = 0; i < responder.size(); ++i) {
///       ... responder.fail(i, status) or responder.add_output(i, ...) and write the bytes
///     }
///     responder.finish(times);
class BatchResponder {
 public:
  /// \param reporter   of the instance; null: nothing is reported.
  /// \param decoupled  the model's transaction policy: the final flag then follows the data response.
  explicit BatchResponder(InferenceReporter* reporter, bool decoupled = false) noexcept
      : reporter_(reporter), decoupled_(decoupled) {}
  BatchResponder(const BatchResponder&) = delete;
  BatchResponder& operator=(const BatchResponder&) = delete;
  /// Whatever was begun and not finished is answered with an INTERNAL error.
  ~BatchResponder();

  /// Takes the requests of the batch. The span need not outlive the call.
  void begin(const Batch& batch);

  uint32_t size() const noexcept { return static_cast<uint32_t>(entries_.size()); }
  Request& request(uint32_t i) noexcept { return *entries_[i].request; }
  bool failed(uint32_t i) const noexcept { return !entries_[i].error.ok(); }
  /// Request i will be answered with this failure instead of its outputs. The first failure stays.
  void fail(uint32_t i, Status failure) noexcept;
  /// Fails every request that has not failed yet.
  void fail_all(const Status& failure) noexcept;

  /// Adds the output that entry `output_index` of Request::outputs asks for and gets memory for it, of any
  /// kind the sink gives: check buffer.kind before writing. On failure the request is failed and null is
  /// returned. The pointer is valid until the next add_output() of the same request.
  OutputTensor* add_output(uint32_t i, uint32_t output_index, DataType datatype,
                           std::span<const int64_t> shape, uint64_t size_bytes,
                           MemoryKind preferred_kind = MemoryKind::kCpu, int64_t preferred_device_id = 0);

  /// Reports statistics, sends every response and releases every request. No request may be touched
  /// afterwards. Statistics come before the answer, so a client that has its answer finds itself counted. A
  /// batch in which every request failed does not count as an execution; CANCELLED counts as canceled, any
  /// other failure as the backend's.
  void finish(const ExecutionTimes& times) noexcept;

 private:
  struct Entry {
    Request* request = nullptr;
    Response* response = nullptr;  ///< made with the first output
    Status error;
  };
  void report(const Entry& entry, const ExecutionTimes& times) noexcept;
  void answer(Entry& entry) noexcept;

  std::vector<Entry> entries_;
  InferenceReporter* reporter_;
  bool decoupled_;
};

}  // namespace atl::backends
