/// How many requests are inside an ensemble.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "atoll/core/intrusive_list.h"
#include "schedulers/ensemble/ensemble_run.h"
#include "schedulers/ensemble/tensor_memory.h"

namespace atl::ensemble {

/// Those that come beyond wait in the order in which they came, with nothing but their inputs: no thread waits with
/// them. There are so many inside as are allowed and as there is memory for, counted with what the largest of the
/// last ones took; but always one. [any]
class Entrance {
 public:
  enum class Outcome { kEntered, kWaits, kFull };

  /// \param runs_max  0: any number \param waiting_max  likewise \param memory  outlives this
  Entrance(uint64_t runs_max, uint64_t waiting_max, const TensorMemory& memory) noexcept
      : runs_max_(runs_max), waiting_max_(waiting_max), memory_(memory) {}
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  /// One that waits listens for its cancellation; one that is cancelled already does not wait.
  Outcome enter(EnsembleRun& run) noexcept {
    std::scoped_lock lock(mutex_);
    if (waiting_.empty() && has_room()) {
      ++inside_;
      return Outcome::kEntered;
    }
    if (waiting_max_ != 0 && count_.load(std::memory_order_relaxed) >= waiting_max_) return Outcome::kFull;
    if (!run.listen()) {
      ++inside_;
      return Outcome::kEntered;
    }
    waiting_.push_back(run);
    count_.fetch_add(1, std::memory_order_relaxed);
    return Outcome::kWaits;
  }
  /// One that entered has ended. \param bytes  most that its tensors took
  void leave(uint64_t bytes) noexcept {
    std::scoped_lock lock(mutex_);
    --inside_;
    need_bytes_ = std::max(bytes, need_bytes_ - need_bytes_ / 64);
  }
  /// \returns whose turn it is: it has entered; null: nobody's
  EnsembleRun* next() noexcept {
    if (waiting() == 0) return nullptr;
    std::scoped_lock lock(mutex_);
    if (waiting_.empty() || !has_room()) return nullptr;
    ++inside_;
    count_.fetch_sub(1, std::memory_order_relaxed);
    return waiting_.pop_front();
  }
  /// It enters at once. \returns whether it was waiting
  bool remove(const EnsembleRun& run) noexcept {
    std::scoped_lock lock(mutex_);
    if (!waiting_.remove(run)) return false;
    ++inside_;
    count_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  uint64_t waiting() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  bool has_room() const noexcept {
    if (inside_ == 0) return true;
    if (runs_max_ != 0 && inside_ >= runs_max_) return false;
    const uint64_t limit_bytes = memory_.limit_bytes();
    return limit_bytes == 0 || need_bytes_ == 0 || inside_ < limit_bytes / need_bytes_;
  }

  const uint64_t runs_max_, waiting_max_;
  const TensorMemory& memory_;
  std::mutex mutex_;
  uint64_t inside_ = 0;
  uint64_t need_bytes_ = 0;  ///< of one
  IntrusiveList<EnsembleRun> waiting_;
  std::atomic<uint64_t> count_{0};  ///< of those
};

}  // namespace atl::ensemble
