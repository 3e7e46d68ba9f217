/// Instances of a version that is served, and what is new beside them, when its instances change.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/request/statistics.h"
#include "models/catalog/serving/served_model.h"

namespace atl::models {

/// Tells the statistics nothing until it is opened: warm-up does not count, and what is counted stays.
class QuietReporter final : public InferenceReporter {
 public:
  explicit QuietReporter(InferenceReporter* reporter) noexcept : reporter_(reporter) {}
  void open() noexcept { open_.store(true, std::memory_order_relaxed); }
  void report_request(const Request& request, bool success, const ExecutionTimes& times) noexcept override {
    if (is_open()) reporter_->report_request(request, success, times);
  }
  void report_batch(uint32_t batch_size, const ExecutionTimes& times) noexcept override {
    if (is_open()) reporter_->report_batch(batch_size, times);
  }
  void report_failure(const Request& request, FailureReason reason) noexcept override {
    if (is_open()) reporter_->report_failure(request, reason);
  }
  void report_response(uint64_t index, Code outcome, const ResponseTimes& times) noexcept override {
    if (is_open()) reporter_->report_response(index, outcome, times);
  }

 private:
  bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }
  InferenceReporter* reporter_;
  std::atomic<bool> open_{false};
};

/// An instance's description together with what it reports to.
struct QuietSpec {
  QuietSpec(InstanceSpec described, InferenceReporter* reporter)
      : spec(std::move(described)), quiet(reporter) {
    spec.reporter = &quiet;
  }
  InstanceSpec spec;
  QuietReporter quiet;
};

/// Fills in, for each of the wanted, an instance of the old version that is alike; one is taken once. The
/// names of those that stay are the ones they had. \returns how many
size_t take_over(const ModelParts& old, const std::vector<std::unique_ptr<InstanceSpec>>& wanted,
                 ModelParts& parts);

}  // namespace atl::models
