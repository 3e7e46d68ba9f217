/// The metrics of one worker.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "backends/python/calls/control_calls.h"
#include "backends/python/calls/metric_registry.h"
#include "backends/python/memory/protocol.h"
#include "backends/python/process/worker.h"

namespace atl::python {

/// On the worker's reader thread. What it has made goes with this, unless another one has it too.
class MetricCalls {
 public:
  explicit MetricCalls(MetricRegistry& registry) noexcept : registry_(registry) {}

  static bool is_one(MessageType type) noexcept {
    return type >= MessageType::kMetricFamily && type <= MessageType::kFamilyGone;
  }
  /// Errors: the worker does not keep to the protocol.
  Status take(const WorkerMemory& memory, const RingMessage& message, Replies& replies);

 private:
  /// Families and metrics of one worker; more is a leak.
  static constexpr size_t kMost = 10'000;

  Result<uint32_t> make_family(const WorkerMemory& memory, const RingMessage& message);
  Result<uint32_t> make_metric(const WorkerMemory& memory, const RingMessage& message);
  void update(const RingMessage& message);

  MetricRegistry& registry_;
  std::unordered_map<uint32_t, std::shared_ptr<MetricRegistry::Family>> families_;
  std::unordered_map<uint32_t, std::shared_ptr<CustomMetric>> metrics_;
  uint32_t next_ = 1;
};

}  // namespace atl::python
