/// Executions that run on a device at a time, as a plan has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "admission/deadlines/line.h"

namespace atl::deadlines {

struct PlanRules {
  uint32_t executions = 1;  ///< at a time
  uint32_t parallel = 1;    ///< of them that do not slow each other down; at most `executions`

  /// How many times as long executions take where so many run.
  double crowd(size_t runs) const noexcept {
    return std::max(1.0, static_cast<double>(runs) / static_cast<double>(parallel));
  }
};

/// Most executions at a time on a device.
inline constexpr uint32_t kRunsMax = 64;

/// An execution that runs.
struct PlannedRun {
  double left_ns = 0;  ///< of its time, were it alone
  int64_t deadline_ns = kNever;
  Line* of = nullptr;  ///< null: its line does not matter
};

/// They share the device. Not thread safe.
class PlannedRuns {
 public:
  explicit PlannedRuns(PlanRules rules) noexcept : rules_(rules) {}

  void clear() noexcept { runs_.clear(); }
  /// Fewer than kRunsMax.
  void add(const PlannedRun& run) { runs_.push_back(run); }
  size_t size() const noexcept { return runs_.size(); }
  bool empty() const noexcept { return runs_.empty(); }

  /// Until the first of them ends; there is one.
  double first_end_ns() const noexcept { return least_ns() * rules_.crowd(runs_.size()); }
  /// Until all of them have ended.
  double all_end_ns() const noexcept;
  /// Whether they, and one more, end in time if they share the device.
  bool has_room_for(const PlannedRun& one, int64_t now_ns) const noexcept;
  /// Takes away what ends first. \param ended  is called with each
  template <class Ended>
  void end_first(Ended&& ended) {
    const double least = least_ns();
    std::erase_if(runs_, [&](PlannedRun& run) {
      run.left_ns -= least;
      if (run.left_ns > 0.5) return false;
      ended(run);
      return true;
    });
  }

 private:
  double least_ns() const noexcept;

  const PlanRules rules_;
  std::vector<PlannedRun> runs_;
};

}  // namespace atl::deadlines
