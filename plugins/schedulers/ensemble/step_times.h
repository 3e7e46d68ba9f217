/// What the steps of a request have taken.
#pragma once

#include <cstdint>

#include "atoll/request/statistics.h"

namespace atl::ensemble {

/// As if they had followed each other from the start on.
class StepTimes {
 public:
  /// \param start_ns  on the host's clock
  explicit StepTimes(int64_t start_ns = 0) noexcept : start_ns_(start_ns) {}

  void add(const ExecutionTimes& step) noexcept {
    input_ns_ += elapsed_ns(step.execute_start_ns, step.compute_start_ns);
    infer_ns_ += elapsed_ns(step.compute_start_ns, step.compute_end_ns);
    output_ns_ += elapsed_ns(step.compute_end_ns, step.execute_end_ns);
  }
  ExecutionTimes total(int64_t now_ns) const noexcept {
    ExecutionTimes times;
    times.execute_start_ns = start_ns_;
    times.compute_start_ns = start_ns_ + input_ns_;
    times.compute_end_ns = times.compute_start_ns + infer_ns_;
    times.execute_end_ns = times.compute_end_ns + output_ns_;
    times.request_end_ns = now_ns;
    return times;
  }

 private:
  static int64_t elapsed_ns(int64_t from_ns, int64_t to_ns) noexcept {
    return to_ns > from_ns ? to_ns - from_ns : 0;
  }

  int64_t start_ns_;
  int64_t input_ns_ = 0, infer_ns_ = 0, output_ns_ = 0;
};

}  // namespace atl::ensemble
