#include "admission/deadlines/planned_runs.h"

#include <array>
#include <cmath>

namespace atl::deadlines {

double PlannedRuns::least_ns() const noexcept {
  double least_ns = INFINITY;
  for (const PlannedRun& run : runs_) least_ns = std::min(least_ns, run.left_ns);
  return least_ns;
}

double PlannedRuns::all_end_ns() const noexcept {
  double left_ns = 0;
  for (const PlannedRun& run : runs_) left_ns += run.left_ns;
  return left_ns / rules_.parallel;
}

bool PlannedRuns::has_room_for(const PlannedRun& one, int64_t now_ns) const noexcept {
  std::array<PlannedRun, kRunsMax> all;
  size_t count = 0;
  for (const PlannedRun& run : runs_) all[count++] = run;
  all[count++] = one;
  std::sort(all.begin(), all.begin() + count,
            [](const PlannedRun& a, const PlannedRun& b) { return a.left_ns < b.left_ns; });
  double at_ns = 0, done_ns = 0;
  for (size_t i = 0; i < count; ++i) {
    at_ns += (all[i].left_ns - done_ns) * rules_.crowd(count - i);
    done_ns = all[i].left_ns;
    if (all[i].deadline_ns != kNever && now_ns + static_cast<int64_t>(at_ns) > all[i].deadline_ns) {
      return false;
    }
  }
  return true;
}

}  // namespace atl::deadlines
