/// Everything that waits for a device, in batches that it could be executed in: the rough answer to who would be
/// late, for what is too far away to be planned.
#pragma once

#include <cstdint>
#include <vector>

#include "admission/deadlines/line.h"
#include "admission/deadlines/ordered_blocks.h"

namespace atl::deadlines {

/// Requests of a line that are taken to be executed together. Times are shares of the device: where so many
/// executions do not slow each other down, one takes as little of the device as that.
struct BacklogEntry {
  struct Summary {
    int64_t work_ns = 0;
    int64_t start_ns = kNever;  ///< until when the first of them must begin, so that none is late
    static Summary of(const std::vector<BacklogEntry>& entries) noexcept;
  };
  FrontKey key;
  int64_t work_ns = 0;
  int64_t due_ns = kNever;  ///< of the device's time
};

/// The device takes batches in the order of the deadlines of their first requests, one after the other. Those that
/// are late are not executed. A request joins the last batch of its line where there is room, and that makes nobody
/// late. What is asked costs a few nanoseconds for each 64 batches, and for each batch that is late. Not thread
/// safe.
class Backlog {
 public:
  /// \param parallel  executions that do not slow each other down
  explicit Backlog(uint32_t parallel) noexcept : parallel_(parallel) {}

  /// A request is the last one of its line now. \param start_ns  when the device has done what it executes
  void push(Line& line, const QueuedRequest& request, int64_t start_ns);
  /// So many of the first requests are not in the line's queue any more.
  void pop(Line& line, size_t requests) noexcept;
  /// It is known now what the executions of the line take.
  void estimate(Line& line) noexcept;

  /// What comes behind the plan.
  struct Rest {
    int64_t start_ns = 0;  ///< when the device begins with it
    FrontKey from;         ///< what comes before is in the plan
    int64_t more_ns = 0;   ///< that the newcomer adds, if it is in the plan; 0: it is not
    int64_t line_ns = 0;   ///< when the newcomer's line could begin with what it has
  };
  /// Whether a request that is not in its line yet would be late, or make somebody late who would not be otherwise.
  bool is_harmed_by(const Line& line, const QueuedRequest& newcomer, const Rest& rest) const noexcept;
  int64_t work_from(const FrontKey& from) const noexcept;
  /// Of a batch of that line, as a share of the device.
  int64_t share_ns(const Line& line, uint32_t size) const noexcept { return line.cost_ns(size) / parallel_; }
  size_t size() const noexcept { return size_; }

 private:
  /// Where a request would come.
  struct Place {
    FrontKey key;
    bool joins;
    int64_t work_ns;  ///< that it adds
    int64_t due_ns;
  };
  static bool may_join(const Line& line, const QueuedRequest& request) noexcept;
  Place joining(const Line& line, const QueuedRequest& request) const noexcept;
  Place apart(const Line& line, const QueuedRequest& request) const noexcept;
  bool is_harmed(const Place& place, const Rest& rest) const noexcept;
  BacklogEntry entry_of(Line& line, PlannedBatch& batch) const noexcept;
  int64_t due_ns(const Line& line, int64_t deadline_ns, uint32_t size) const noexcept;

  const uint32_t parallel_;
  uint64_t pushes_ = 0;
  size_t size_ = 0;  ///< batches
  OrderedBlocks<BacklogEntry> batches_;
};

}  // namespace atl::deadlines
