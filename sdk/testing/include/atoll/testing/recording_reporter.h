/// An InferenceReporter that counts, and knows which requests were reported.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/request/request.h"
#include "atoll/request/statistics.h"

namespace atl::test {

/// [any] Requests are told apart by their ids.
class RecordingReporter final : public InferenceReporter {
 public:
  struct Counts {
    uint64_t succeeded = 0, failed = 0;  ///< report_request
    uint64_t not_executed[4] = {};       ///< report_failure, by FailureReason
    uint64_t total() const noexcept {
      return succeeded + failed + not_executed[0] + not_executed[1] + not_executed[2] + not_executed[3];
    }
  };
  struct Response {
    uint64_t index;
    Code outcome;
    ResponseTimes times;
  };
  virtual ~RecordingReporter() = default;

  void report_request(const Request& request, bool success, const ExecutionTimes& times) noexcept override {
    if ((request.call_flags & kShadow) != 0) return;  // counted by no statistics
    std::lock_guard lock(mutex_);
    Counts& counts = by_id_[std::string(request.id)];
    ++(success ? counts.succeeded : counts.failed);
    ++(success ? all_.succeeded : all_.failed);
    if (times.execute_start_ns > times.compute_start_ns || times.compute_start_ns > times.compute_end_ns ||
        times.compute_end_ns > times.execute_end_ns) {
      disordered_times_ += success;
    }
  }
  void report_batch(uint32_t batch_size, const ExecutionTimes&) noexcept override {
    std::lock_guard lock(mutex_);
    batches_.push_back(batch_size);
  }
  void report_failure(const Request& request, FailureReason reason) noexcept override {
    if ((request.call_flags & kShadow) != 0) return;
    std::lock_guard lock(mutex_);
    auto index = static_cast<uint32_t>(reason) % 4;
    ++by_id_[std::string(request.id)].not_executed[index];
    ++all_.not_executed[index];
  }
  void report_response(uint64_t index, Code outcome, const ResponseTimes& times) noexcept override {
    std::lock_guard lock(mutex_);
    responses_.push_back({index, outcome, times});
  }

  /// Forgets everything.
  void clear() {
    std::lock_guard lock(mutex_);
    all_ = {};
    by_id_.clear();
    batches_.clear();
    responses_.clear();
    disordered_times_ = 0;
  }
  Counts all() const {
    std::lock_guard lock(mutex_);
    return all_;
  }
  Counts of(const std::string& request_id) const {
    std::lock_guard lock(mutex_);
    auto found = by_id_.find(request_id);
    return found == by_id_.end() ? Counts{} : found->second;
  }
  std::vector<uint32_t> batches() const {
    std::lock_guard lock(mutex_);
    return batches_;
  }
  std::vector<Response> responses() const {
    std::lock_guard lock(mutex_);
    return responses_;
  }
  /// Successes whose four times were not ascending.
  uint64_t disordered_times() const {
    std::lock_guard lock(mutex_);
    return disordered_times_;
  }

 private:
  mutable std::mutex mutex_;
  Counts all_;
  std::map<std::string, Counts> by_id_;
  std::vector<uint32_t> batches_;
  std::vector<Response> responses_;
  uint64_t disordered_times_ = 0;
};

}  // namespace atl::test
