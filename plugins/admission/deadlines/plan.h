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
  Line* of = nullptr;  ///< null: its line does not matter
};

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

/// Scratch that is begun from the device's state, asked, and begun anew. It looks at the index of the device's
/// lines and makes rows only of those that it comes to, so what it costs depends on how far it has to look, not on
/// how much waits. Not thread safe.
class DevicePlan {
 public:
  /// \param rules   fewer than kRunsMax executions
  /// \param fronts  the lines that something waits in; outlives the plan
  DevicePlan(PlanRules rules, const FrontIndex& fronts) noexcept : rules_(rules), fronts_(fronts) {}

  void begin(int64_t now_ns, PlanScope scope) noexcept;
  /// Fewer than kRunsMax.
  void add_run(const PlannedRun& run) { runs_.push_back(run); }
  /// A request that is not in its line yet.
  void add_newcomer(Line& line, const QueuedRequest& newcomer);

  /// What begins now.
  PlannedStart next() noexcept;
  /// What an execution of that line may be if it begins now.
  PlannedStart size_for(Line& line) noexcept;
  /// Goes through everything that waits. \returns how many bound requests are late; stops above `most`
  uint32_t count_late(uint32_t most) noexcept;
  /// When the device has done all of it, after count_late().
  int64_t end_ns() const noexcept { return now_ns_; }

 private:
  /// A line that the plan has come to.
  struct Row {
    Line* line;
    uint64_t order;
    size_t taken;  ///< requests, from the front
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
  bool is_ready(const Line& line) const noexcept;
  Row& touch(Line& line);
  int64_t ends_ns(double work_ns, double factor) const noexcept;
  int64_t first_end_ns() const noexcept;
  int64_t bound_of_others(const Row& row) const noexcept;
  Choice choose(const Row& row) const noexcept;
  bool harms_nobody(double work_ns, int64_t deadline_ns) const noexcept;
  bool may_join(const QueuedRequest& first, int64_t cost_one_ns, int64_t first_end_ns) const noexcept;
  Row* first_touched(bool is_free, int64_t first_end_ns) noexcept;
  Line* first_free(const FrontKey& before) noexcept;
  Line* first_joining(const FrontKey& before, int64_t first_end_ns) const noexcept;
  Row* choose_row() noexcept;
  void free_one(Line& line) noexcept;
  void advance() noexcept;

  const PlanRules rules_;
  const FrontIndex& fronts_;
  PlanScope scope_ = PlanScope::kWaiting;
  int64_t now_ns_ = 0;
  uint32_t late_ = 0;
  uint64_t round_ = 0;                  ///< number of the plan
  size_t at_block_ = 0, at_entry_ = 0;  ///< entries of the index before it are in rows, or cannot begin
  std::vector<Row> rows_;
  std::vector<uint32_t> live_;  ///< rows that something is left in
  std::vector<PlannedRun> runs_;
};

}  // namespace atl::deadlines
