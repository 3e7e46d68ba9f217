/// Versions that are served no more, and finish the sequences that began on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/models/model.h"
#include "models/catalog/serving/reader_shards.h"
#include "models/catalog/serving/served_model.h"

namespace atl::models {

/// Keeps such a version until its last sequence has ended, or the time for that is over; then the version goes as
/// any other does. Which there are is guarded by the serving table's lock.
class FinishingVersions {
 public:
  FinishingVersions(ReaderShards& shards, const Clock& clock, ExecutorFactory& executors) noexcept
      : shards_(shards), clock_(clock), executors_(executors) {}
  FinishingVersions(const FinishingVersions&) = delete;
  FinishingVersions& operator=(const FinishingVersions&) = delete;

  /// \param time_ns  that a version which is retired from now on has for it; 0: none
  void set_time_ns(int64_t time_ns) noexcept { time_ns_.store(time_ns, std::memory_order_relaxed); }
  /// Takes a version that is about to be retired, and a reference of it, if it knows sequences.
  /// \returns whether it did: watch() then, without the lock
  bool add(const ReaderShards::Write&, const std::string& name, ServedModel& version);
  /// Looks from now on, every now and then, whether sequences have ended. [any]
  void watch() noexcept;
  /// No version is taken any more, and those that are there go. [control]
  void end() noexcept;

  /// See ModelCatalog::finishing().
  ModelRef find(std::string_view name, int64_t version, const SequenceId& sequence) noexcept;
  uint64_t open_sequences() const noexcept;

 private:
  struct Version {
    std::string name;
    ServedModel* model = nullptr;
    int64_t until_ns = 0;
  };
  void look() noexcept;
  void let_go(bool all) noexcept;
  void look_again_later() noexcept;

  ReaderShards& shards_;
  const Clock& clock_;
  ExecutorFactory& executors_;
  std::atomic<int64_t> time_ns_{0};
  std::vector<Version> versions_;  // guarded by shards_, as the next one is; the oldest first
  bool ended_ = false;
  std::atomic<bool> any_{false};
  std::mutex mutex_;  // guards the following
  SerialExecutorPtr executor_;
  bool watching_ = false;
};

}  // namespace atl::models
