/// Chooses size and delay of batches from what it sees, and says which requests come too late.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/request/request.h"

namespace atl::schedulers {

/// What the scheduler knows when it asks.
struct BatchLoad {
  int64_t now_ns = 0;
  uint64_t queued_weight = 0;  ///< batch weights that wait
  uint32_t idle_instances = 0;
};

/// Under the scheduler's lock unless said otherwise.
class BatchTuner {
 public:
  struct Window {
    uint32_t size_max = 1;
    int64_t delay_ns = 0;
  };
  virtual ~BatchTuner() = default;
  /// A request is about to wait. False: it would be answered too late, and is refused.
  virtual bool admit(const Request& request, const BatchLoad& load) noexcept = 0;
  virtual Window window() const noexcept = 0;
  /// Whether a request that is about to be executed in a batch of that size would still be in time.
  virtual bool in_time(const Request& request, uint32_t batch_size, int64_t now_ns) noexcept = 0;
  /// Whether a request that is executed until then is in time. For executions that admission predicts.
  virtual bool ends_in_time(const Request& request, int64_t ends_ns) noexcept = 0;
  virtual void executed(uint32_t batch_size, int64_t duration_ns) noexcept = 0;
  /// [any] Why a request was refused, without its id.
  virtual std::string refusal() const = 0;
};

}  // namespace atl::schedulers
