/// What a device does from now on: which executions begin when, how large their batches are, who is late.
///
/// The rules, over all models of the device:
///
/// - The line whose first request has the earliest deadline is served first, with the largest batch that
///   leaves both that request and the first one of every other line in time.
/// - Executions that do not slow each other down begin as they come. Where more may run at a time, another one
///   begins beside those that run only if its request would be late otherwise, and nobody who runs becomes late
///   by it.
/// - Who has no deadline comes last, and first once its patience is at an end.
///
/// Executions beyond those share the device.
#pragma once

#include <algorithm>
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

/// Sums of shares of nanoseconds are rounded, so who is late by less is not late.
inline constexpr int64_t kRoundingNs = 1'000;
/// Most executions at a time on a device.
inline constexpr uint32_t kRunsMax = 64;

/// An execution that runs.
struct PlannedRun {
  double left_ns = 0;  ///< of its time, were it alone
  int64_t deadline_ns = kNever;
  const Line* of = nullptr;  ///< null: its line does not matter
};

/// What begins.
struct PlannedStart {
  Line* line = nullptr;  ///< null: nothing
  uint32_t size = 0;     ///< most that its batch may have
  double work_ns = 0;    ///< that it takes, were it alone
  int64_t deadline_ns = kNever;
};

/// Scratch that is filled from the device's state, asked, and filled anew. Not thread safe.
class DevicePlan {
 public:
  /// \param rules  fewer than kRunsMax executions
  explicit DevicePlan(PlanRules rules) noexcept : rules_(rules) {}

  void begin(int64_t now_ns) noexcept;
  /// \param free  instances of it that could execute
  void add_line(Line& line, uint32_t free);
  /// Fewer than kRunsMax.
  void add_run(const PlannedRun& run) { runs_.push_back(run); }
  /// A request that is not in its line yet. The line has been added.
  void add_newcomer(const Line& line, const QueuedRequest& newcomer) noexcept;

  /// What begins now.
  PlannedStart next() noexcept;
  /// What an execution of that line, which was added, may be if it begins now.
  PlannedStart size_for(Line& line) noexcept;
  /// Goes through everything that waits. \returns how many bound requests are late; stops above `most`
  uint32_t count_late(uint32_t most) noexcept;
  /// When the device has done all of it, after count_late().
  int64_t end_ns() const noexcept { return now_ns_; }

 private:
  struct Row {
    Line* line;
    const QueuedRequest* newcomer;
    size_t taken;  ///< requests, from the front
    uint32_t free;
    int64_t cost_one_ns;
  };
  struct Choice {
    size_t taken = 0;  ///< requests, from the front, with those that are late
    uint32_t size = 0, late = 0;
    int64_t deadline_ns = kNever;
    double work_ns = 0;
  };
  static const QueuedRequest* at(const Row& row, size_t index) noexcept;
  static const QueuedRequest* front(const Row& row) noexcept { return at(row, row.taken); }
  int64_t ends_ns(double work_ns, double factor) const noexcept;
  int64_t first_end_ns() const noexcept;
  int64_t bound_of_others(const Row& row) const noexcept;
  Choice choose(const Row& row) const noexcept;
  bool harms_nobody(double work_ns, int64_t deadline_ns) const noexcept;
  bool may_join(const Row& row, int64_t first_end_ns) const noexcept;
  Row* choose_row() noexcept;
  void free_one(const Line& line) noexcept;
  void advance() noexcept;

  const PlanRules rules_;
  int64_t now_ns_ = 0;
  uint32_t late_ = 0;
  std::vector<Row> rows_;
  std::vector<PlannedRun> runs_;
};

}  // namespace atl::deadlines
