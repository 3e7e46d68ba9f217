/// What operators see of the sequences of one model version.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace atl::schedulers {

/// Written by the scheduler under its lock, read by whoever collects metrics. [any]
struct SequenceFigures {
  std::string model;
  int64_t version = 0;
  std::atomic<uint64_t> open{0};     ///< sequences, with a slot or in the backlog
  std::atomic<uint64_t> slots{0};    ///< in use
  std::atomic<uint64_t> backlog{0};  ///< sequences without a slot
  /// When the first sequence of the backlog began, steady clock; 0: it is empty.
  std::atomic<int64_t> backlog_since_ns{0};
  std::atomic<uint64_t> idle_ended{0};   ///< sequences that had nothing to do for too long, ever
  std::atomic<uint64_t> rescheduled{0};  ///< executions that gave their request back, ever
};

}  // namespace atl::schedulers
