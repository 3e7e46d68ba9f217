/// What pools, instances and leases work with.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "atoll/pools/launcher.h"
#include "atoll/pools/placement.h"
#include "pools/leases/book/definitions.h"
#include "pools/leases/servers/instance_models.h"

namespace atl::pools {

struct PoolSettings {
  LeaseLimits lease_limits;
  bool unknown_needs_new_instance = false;
  int64_t idle_ns = 60 * kNsPerSecond;             ///< without a lease until an instance is stopped
  int64_t history_ns = 3600 * kNsPerSecond;        ///< that leases are known after their end
  int64_t start_timeout_ns = 300 * kNsPerSecond;   ///< from the launch until an instance is ready
  int64_t ready_interval_ns = 100 * kNsPerMs;      ///< between two looks at one that starts
  int64_t health_interval_ns = 5 * kNsPerSecond;   ///< at one that is ready
  uint32_t health_failures = 3;                    ///< in a row, until it counts as lost
  int64_t first_backoff_ns = kNsPerSecond;         ///< until an instance is started after one that failed
  int64_t longest_backoff_ns = 30 * kNsPerSecond;  ///< it doubles up to this
  uint32_t leases_max = 100'000;                   ///< not counting those that have ended
  uint32_t pools_max = 1'000;
  std::string
      repositories;  ///< directory in which each server has one of its own, by its id; empty: none has
};

/// Everything happens on one executor, so nothing of it has a lock. All of these outlive what works with them.
struct PoolContext {
  SerialExecutor& executor;
  Clock& clock;
  Log& log;
  Launcher& launcher;
  InstanceModels& hosts;
  const Placement& placement;
  PoolSettings settings;
  std::function<std::string()> make_id;   ///< that was never made before
  std::function<std::string()> make_key;  ///< that nobody can guess, for a server

  int64_t now_ns() const noexcept { return clock.now_ns(); }
  void post_after(int64_t delay_ns, Task task) const { executor.post_at(clock.now_ns() + delay_ns, task); }
};

/// The time that much later, or the last one there is.
constexpr int64_t after(int64_t time_ns, int64_t duration_ns) noexcept {
  return duration_ns > 0 && time_ns > INT64_MAX - duration_ns ? INT64_MAX : time_ns + duration_ns;
}

/// For callbacks that may come when who wanted them is gone.
class Alive {
 public:
  /// \returns the callback, which does nothing once this is gone or renew() was called
  template <class Callback>
  auto only_while(Callback callback) const {
    return [token = std::weak_ptr<int>(token_), callback = std::move(callback)](auto&&... arguments) mutable {
      if (!token.expired()) callback(std::forward<decltype(arguments)>(arguments)...);
    };
  }
  /// What was given out before does nothing any more.
  void renew() { token_ = std::make_shared<int>(); }

 private:
  std::shared_ptr<int> token_ = std::make_shared<int>();
};

}  // namespace atl::pools
