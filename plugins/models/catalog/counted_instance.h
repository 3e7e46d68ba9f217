/// A backend's instance as schedulers see it: passes batches on and knows how much it is executing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "atoll/backend.h"
#include "trace_inputs.h"

namespace atl::models {

/// Costs two relaxed stores a batch and a look at each request's trace. Without it nobody could tell queued
/// requests from executing ones.
class CountedInstance final : public BackendInstance {
 public:
  explicit CountedInstance(std::unique_ptr<BackendInstance> instance) noexcept
      : instance_(std::move(instance)) {}

  Status execute(const Batch& batch) noexcept override {
    for (const Request* request : batch.requests) trace_inputs(*request, TraceActivity::kTensorBackendInput);
    executing_.store(static_cast<uint32_t>(batch.requests.size()), std::memory_order_relaxed);
    Status status = instance_->execute(batch);
    executing_.store(0, std::memory_order_relaxed);
    return status;
  }
  bool ready() const noexcept override { return instance_->ready(); }

  /// Requests of the batch that runs. [any]
  uint32_t executing() const noexcept { return executing_.load(std::memory_order_relaxed); }

 private:
  std::unique_ptr<BackendInstance> instance_;
  std::atomic<uint32_t> executing_{0};
};

}  // namespace atl::models
