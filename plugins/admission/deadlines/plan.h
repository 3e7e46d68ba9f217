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

#include "admission/deadlines/front_index.h"
#include "admission/deadlines/line.h"
#include "admission/deadlines/planned_runs.h"

namespace atl::deadlines {

/// What begins.
struct PlannedStart {
  Line* line = nullptr;  ///< null: nothing
  uint32_t size = 0;     ///< most that its batch may have
  double work_ns = 0;    ///< that it takes, were it alone
  int64_t deadline_ns = kNever;
};

/// Whose instances count, and what waits.
enum class PlanScope : uint8_t {
  kWaiting,  ///< all instances that do not execute, and requests that schedulers have announced
  kAsking,   ///< instances that wait for admission, for requests or for what nobody has announced
};

/// How far a plan goes: to so many batches, with so many requests, past so many lines that cannot begin. What
/// comes then is left to the backlog, so that a decision costs no more, however much waits.
inline constexpr uint32_t kPlannedBatches = 256;
inline constexpr size_t kPlannedRequests = 1'024;
inline constexpr size_t kPlannedSteps = 4'096;

/// Where a plan ends.
struct PlanEnd {
  int64_t at_ns = 0;    ///< when the device has done what was planned
  bool is_cut = false;  ///< something waits that was not planned, and this says what
  FrontKey from;        ///< what comes before is in the plan
  int64_t put_off_ns =
      0;  ///< that the device needs for what was left of batches, and comes before all the same
  bool has_newcomer = false;  ///< it is in the plan
};

/// Scratch that is begun from the device's state, asked, and begun anew. It looks at the index of the device's
/// lines and makes rows only of those that it comes to, so what it costs depends on how far it has to look, not on
/// how much waits. Not thread safe.
class DevicePlan {
 public:
  /// \param rules   fewer than kRunsMax executions
  /// \param fronts  the lines that something waits in; outlives the plan
  DevicePlan(PlanRules rules, const FrontIndex& fronts) noexcept
      : rules_(rules), fronts_(fronts), runs_(rules) {}

  void begin(int64_t now_ns, PlanScope scope) noexcept;
  /// Fewer than kRunsMax.
  void add_run(const PlannedRun& run) { runs_.add(run); }
  /// A request that is not in its line yet.
  void add_newcomer(Line& line, const QueuedRequest& newcomer);

  /// What begins now.
  PlannedStart next() noexcept;
  /// What an execution of that line may be if it begins now.
  PlannedStart size_for(Line& line) noexcept;
  /// Goes through what waits. \returns how many bound requests are late; stops above `most`
  uint32_t count_late(uint32_t most) noexcept;

  /// Where that came to an end, after it.
  PlanEnd end() const noexcept;

 private:
  /// A line that the plan has come to.
  struct Row {
    Line* line;
    uint64_t order;
    size_t waiting;  ///< requests in the line, without the newcomer
    size_t taken;    ///< from the front
    uint32_t free;
    int64_t cost_one_ns;
    bool has_newcomer;
    QueuedRequest newcomer;  ///< behind the line
  };
  struct Choice {
    size_t taken = 0;  ///< requests, from the front, with those that are late
    uint32_t size = 0, late = 0;
    int64_t deadline_ns = kNever;
    double work_ns = 0;
  };
  static const QueuedRequest* at(const Row& row, size_t index) noexcept;
  static const QueuedRequest* front(const Row& row) noexcept { return at(row, row.taken); }
  static FrontKey key_of(const Row& row) noexcept { return {front(row)->deadline_ns, row.order}; }
  uint32_t free_of(const Line& line) const noexcept;
  bool is_untouched(const Line& line) const noexcept { return line.place.plan_round != round_; }
  bool is_ready(const Line& line) const noexcept;
  Row& touch(Line& line);
  int64_t bound_of_others(const Row& row) const noexcept;
  Choice choose(const Row& row) const noexcept;
  bool may_join(const QueuedRequest& first, int64_t cost_one_ns, int64_t first_end_ns) const noexcept;
  Row* first_touched(bool is_free, int64_t first_end_ns) noexcept;
  Line* first_free(const FrontKey& before) noexcept;
  Line* first_joining(const FrontKey& before, int64_t first_end_ns) noexcept;
  Row* choose_row() noexcept;
  void free_one(Line& line) noexcept;
  void advance() noexcept;

  const PlanRules rules_;
  const FrontIndex& fronts_;
  PlanScope scope_ = PlanScope::kWaiting;
  int64_t now_ns_ = 0;
  uint32_t late_ = 0;
  size_t steps_ = 0;                    ///< past lines that could not begin
  const Row* cut_ = nullptr;            ///< what was not planned begins with it
  const Line* newcomers_ = nullptr;     ///< the line that somebody is new in
  uint64_t round_ = 0;                  ///< number of the plan
  size_t at_block_ = 0, at_entry_ = 0;  ///< entries of the index before it are in rows, or cannot begin
  std::vector<Row> rows_;
  std::vector<uint32_t> live_;  ///< rows that something is left in
  PlannedRuns runs_;
};

}  // namespace atl::deadlines
