/// Gives memory that unloaded versions leave behind back to the system.
#pragma once

#include <cstdint>
#include <mutex>

#include "atoll/core/executor.h"
#include "atoll/core/host.h"
#include "atoll/core/stop_executor.h"

namespace atl::models {

/// What the process and its allocator do; tests bring their own.
struct MemoryCalls {
  uint64_t (*resident)() noexcept;
  void (*give_back)() noexcept;
};

/// The system's: glibc's malloc_trim() for giving back.
MemoryCalls system_memory() noexcept;

/// An allocator keeps what is freed. That is given back once for a burst of unloads: when none has come for a
/// while, or the first one is long ago; on a thread of its own below the priority of those that answer, which
/// is there from the first unload on. Nothing is given back while the instance drains. [worker]
class MemoryReturn {
 public:
  explicit MemoryReturn(Host& host, MemoryCalls calls = system_memory()) : host_(host), calls_(calls) {}

  /// Right before a version is destroyed.
  void version_ends() noexcept;
  /// Right after. The caller holds a pass of the instance's gate.
  void version_ended() noexcept;
  /// When the gate is empty.
  void stop() { stop_executor(executor_); }

 private:
  void begin() noexcept;  // under the lock
  void check();
  void give_back(uint64_t versions, uint64_t before_bytes);

  Host& host_;
  const MemoryCalls calls_;
  std::mutex mutex_;            ///< guards what follows
  uint64_t versions_ = 0;       ///< destroyed in this burst
  uint64_t before_bytes_ = 0;   ///< resident when it began
  int64_t began_ns_ = 0;        ///< 0: none
  int64_t last_ns_ = 0;         ///< the newest unload of the burst
  bool no_thread_ = false;      ///< there was none to be had
  SerialExecutorPtr executor_;  // last: its tasks use all of the above
};

}  // namespace atl::models
