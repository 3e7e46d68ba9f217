/// The instances of plugins that the server has, as its events tell.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/event_bus.h"
#include "atoll/core/events.h"
#include "atoll/core/host.h"
#include "atoll/core/reload_events.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

/// "ACTIVE" [any]
constexpr std::string_view lifecycle_state_name(PluginStateChanged::State state) noexcept {
  constexpr std::string_view kNames[] = {"DECLARED", "RESOLVED", "LOADED",    "CREATED",  "ACTIVE",
                                         "DRAINING", "STOPPED",  "DESTROYED", "UNLOADED", "FAILED"};
  const auto index = static_cast<size_t>(state);
  return index < std::size(kNames) ? kNames[index] : std::string_view("UNKNOWN");
}

struct ListedInstance {
  std::string name;    ///< in the manifest
  std::string plugin;  ///< "frontends/grpc"
  PluginStateChanged::State state = PluginStateChanged::State::kDeclared;
  uint64_t generation = 0;  ///< of the manifest that it was made for
  std::string reason;       ///< of a failure
  std::vector<std::string>
      services;  ///< interface ids that are found under its name; none of one that does not serve
};

struct InstancesView {
  uint64_t generation = 0;  ///< of the manifest that is applied
  bool is_draining = false;
  std::vector<ListedInstance> instances;  ///< by name, then by generation
};

/// The answer of GET /v2/console/plugins.
std::string instances_json(const InstancesView& view, const ProcessStart& start);

/// Hears of instances. While a reload replaces one, there are two of its name. [any]
class InstanceList {
 public:
  /// \param host  outlives this object
  explicit InstanceList(Host& host) : host_(host) {}

  /// Errors: as Subscription::open(). [control]
  Status open();
  /// [control]
  void close() noexcept;

  InstancesView view() const;

 private:
  template <class Event>
  struct Hear {
    InstanceList& list;
    void operator()(const Event& event) const { list.hear(event); }
  };
  template <class Event>
  using Hearing = Subscription<Event, Hear<Event>>;
  using Key = std::pair<std::string, uint64_t>;  ///< name and generation

  void hear(const ServerStateChanged& event);
  void hear(const PluginStateChanged& event);
  void hear(const ServiceChanged& event);
  void hear(const ReloadChanged& event);

  Host& host_;
  mutable std::mutex mutex_;
  InstancesView server_;  ///< without its instances
  std::map<Key, ListedInstance> instances_;
  std::map<std::string, std::vector<std::string>, std::less<>> services_;  ///< by the instance's name, sorted

  Hearing<ServerStateChanged> server_news_{{*this}};
  Hearing<PluginStateChanged> plugin_news_{{*this}};
  Hearing<ServiceChanged> service_news_{{*this}};
  Hearing<ReloadChanged> reload_news_{{*this}};
};

}  // namespace atl::frontends::console
