/// Who decides what is served looks again when the manifest has changed the repositories.
#pragma once

#include <algorithm>
#include <utility>

#include "atoll/core/event_bus.h"
#include "atoll/core/host.h"
#include "atoll/core/options_follower.h"
#include "atoll/models/repository.h"

namespace atl::control {

/// Calls a function on the control thread when the plugin that provides the repository follows other options.
template <class OnChange>
class RepositoryWatch {
 public:
  RepositoryWatch(Host& host, OnChange on_change)
      : host_(host), subscription_(OnOptions{host, std::move(on_change)}) {}

  /// [control] Errors: those of EventBus::subscribe_raw.
  Status open() noexcept { return subscription_.open(host_.events()); }
  void close() noexcept { subscription_.reset(); }

 private:
  struct OnOptions {
    Host& host;
    OnChange on_change;
    void operator()(const OptionsFollowed& event) {
      const auto providers = host.registry().list(Repository::kInterfaceId);
      const bool is_one = std::any_of(providers.begin(), providers.end(), [&](const auto& provider) {
        return provider.instance == event.instance.view();
      });
      if (is_one) on_change();
    }
  };

  Host& host_;
  Subscription<OptionsFollowed, OnOptions> subscription_;
};

}  // namespace atl::control
