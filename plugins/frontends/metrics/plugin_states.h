/// The states of the plugins and of the server, as the events tell them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "atoll/core/event_bus.h"
#include "atoll/core/events.h"
#include "atoll/core/status.h"
#include "frontends/metrics/page.h"

namespace atl::frontends::metrics {

/// While an instance is replaced, or a reload failed, there are two of one name, of different generations.
/// What has ended is not shown, nor what has failed to replace one that goes on. follow() [control]; write() [any].
class PluginStates {
 public:
  /// Until unfollow().
  Status follow(EventBus& events) noexcept;
  void unfollow() noexcept;
  /// atoll_plugin_state, atoll_server_state, atoll_manifest_generation.
  void write(Page& page) const;

  void take(const PluginStateChanged& event);
  void take(const ServerStateChanged& event);

 private:
  struct Instance {
    std::string plugin;
    PluginStateChanged::State state;
  };
  struct TakePlugin {
    PluginStates* states;
    void operator()(const PluginStateChanged& event) const { states->take(event); }
  };
  struct TakeServer {
    PluginStates* states;
    void operator()(const ServerStateChanged& event) const { states->take(event); }
  };

  /// Under the lock. A reload that was refused leaves the instance that serves in the state that it has.
  bool another_runs(const std::pair<std::string, uint64_t>& failed) const;

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, uint64_t>, Instance> instances_;  ///< by name and generation
  ServerStateChanged server_;
  bool server_known_ = false;
  Subscription<PluginStateChanged, TakePlugin> plugin_news_{TakePlugin{this}};
  Subscription<ServerStateChanged, TakeServer> server_news_{TakeServer{this}};
};

}  // namespace atl::frontends::metrics
