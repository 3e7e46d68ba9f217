/// memory/shared as a plugin: its options, its services, the handler for SIGBUS and the idle timer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "atoll/core/options_follower.h"
#include "atoll/core/plugin.h"
#include "memory/shared/regions.h"

namespace atl::memory {

class SharedMemoryPlugin final : public Plugin, public OptionsFollower {
 public:
  explicit SharedMemoryPlugin(Host& host) : host_(host) {}

  Status init() override;
  Status start() override;
  void stop() override;
  Regions& regions() noexcept { return *regions_; }
  /// But for whether clients may register at all: what is switched off is taken away.
  bool can_follow(const Options& next) noexcept override;
  void follow(const Options& next) noexcept override;
  std::string holding() override;

 private:
  void sweep() noexcept;
  Status start_timer() noexcept;
  void on_devices_changed() noexcept;

  Host& host_;
  RegionSettings settings_;
  DeviceMemory devices_{host_, [this] { on_devices_changed(); }};
  std::optional<Regions> regions_;
  SerialExecutorPtr timer_;  ///< once there was an idle time
  TimerId next_sweep_ = 0;   // of timer_
};

/// User names and numbers to user ids. Errors: INVALID_ARGUMENT names a user that does not exist.
Result<std::vector<uid_t>> find_users(const std::vector<std::string>& names) noexcept;

}  // namespace atl::memory
