/// How a scheduler of sequences forms the batches of one instance.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/common/batch/batch_compatibility.h"
#include "schedulers/common/sequence/sequence_table.h"

namespace atl::schedulers {

/// Under the scheduler's lock, for all instances of a model in turn.
class SequenceStrategy {
 public:
  virtual ~SequenceStrategy() = default;

  /// Puts the ready sequences of the instance that go now into `batch`, which is empty, in its order; null: a
  /// row that stands for nobody, not the last one.
  /// \returns when to look again if none goes, though some are ready; DeadlineHeap::kNever: not before something
  /// changes
  virtual int64_t form(const SequenceTable& table, uint32_t instance, int64_t now_ns,
                       std::vector<Sequence*>& batch) noexcept = 0;
  /// Whether a sequence has the same row of all its batches. Then rows without a request are executed too, no
  /// batch is cut, and an instance has one batch at a time: the next one is formed when all of the last one are
  /// released.
  virtual bool keeps_rows() const noexcept = 0;
};

}  // namespace atl::schedulers
