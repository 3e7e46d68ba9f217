/// A batcher's settings found from a latency target.
///
/// From the executions it sees it learns what a batch of each size costs. The largest batch is the one that
/// takes half the target: a request that just missed one waits for it and is then in the next. If a single
/// one takes nearly that or more, it is the one that costs little more than a single one. Sizes that were not
/// seen are tried step by step. Batches wait for more requests only if the requests that come could not be
/// served one by one in half of the instances' time, and only as long as the target allows. A request that
/// would be late by what is known is refused at once, so that the work goes into those that can still be in
/// time. If even a single request takes longer than the target, it says nothing: batches are as large as
/// they may be, and nothing is refused.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "schedulers/common/batch/batch_tuner.h"
#include "schedulers/dynamic/execution_model.h"

namespace atl::schedulers {

/// What the tuner of one model version did; read by a scrape. [any]
struct LatencyTargetReport {
  std::string model;
  int64_t version = 0;
  int64_t target_ns = 0;
  std::atomic<uint32_t> size_max{0};
  std::atomic<int64_t> delay_ns{0};
  std::atomic<uint64_t> shed{0};  ///< requests refused because they would have been late
};

class LatencyTarget final : public BatchTuner {
 public:
  /// \param size_max  of the model
  LatencyTarget(std::shared_ptr<LatencyTargetReport> report, uint32_t size_max, uint32_t instances) noexcept;
  ~LatencyTarget() override = default;

  bool admit(const Request& request, const BatchLoad& load) noexcept override;
  Window window() const noexcept override { return window_; }
  bool in_time(const Request& request, uint32_t batch_size, int64_t now_ns) noexcept override;
  bool ends_in_time(const Request& request, int64_t ends_ns) noexcept override;
  void executed(uint32_t batch_size, int64_t duration_ns) noexcept override;
  std::string refusal() const override;

 private:
  void note_arrival(const Request& request, int64_t now_ns) noexcept;
  uint32_t choose_size() noexcept;
  uint32_t largest_within(int64_t limit_ns) const noexcept;
  void choose_delay() noexcept;
  bool reachable() const noexcept;
  double wait_ns(const BatchLoad& load) const noexcept;
  int64_t time_limit_ns(const Request& request, int64_t now_ns) const noexcept;

  std::shared_ptr<LatencyTargetReport> report_;
  const int64_t target_ns_;
  const uint32_t model_size_max_;
  const uint32_t instances_;
  ExecutionModel model_;
  Window window_;
  uint32_t attempts_ = 0;    // to see a batch larger than the only size that is known
  double items_per_ns_ = 0;  // arriving, as a moving average
  int64_t last_arrival_ns_ = 0;
};

}  // namespace atl::schedulers
