#include "frontends/metrics/plugin_states.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>

namespace atl::frontends::metrics {
namespace {

using PluginState = PluginStateChanged::State;
using ServerState = ServerStateChanged::State;

std::string_view name_of(PluginState state) {
  constexpr std::string_view kNames[] = {"declared", "resolved", "loaded",    "created",  "active",
                                         "draining", "stopped",  "destroyed", "unloaded", "failed"};
  auto index = static_cast<uint32_t>(state);
  return index < std::size(kNames) ? kNames[index] : std::string_view("unknown");
}

std::string_view name_of(ServerState state) {
  constexpr std::string_view kNames[] = {"starting", "active", "draining"};
  auto index = static_cast<uint32_t>(state);
  return index < std::size(kNames) ? kNames[index] : std::string_view("unknown");
}

}  // namespace

Status PluginStates::follow(EventBus& events) noexcept {
  ATOLL_RETURN_IF_ERROR(plugin_news_.open(events, {.depth = 4096}));
  Status status = server_news_.open(events);
  if (!status.ok()) plugin_news_.reset();
  return status;
}

void PluginStates::unfollow() noexcept {
  plugin_news_.reset();
  server_news_.reset();
}

void PluginStates::take(const PluginStateChanged& event) {
  std::lock_guard lock(mutex_);
  std::pair key(std::string(event.instance.view()), event.generation);
  if (event.state == PluginState::kDestroyed || event.state == PluginState::kUnloaded) {
    instances_.erase(key);
    return;
  }
  instances_[std::move(key)] = {std::string(event.plugin.view()), event.state};
}

void PluginStates::take(const ServerStateChanged& event) {
  std::lock_guard lock(mutex_);
  // A generation with a failed instance is not applied: those that failed belong to attempts before this one.
  if (event.state == ServerState::kActive) {
    std::erase_if(instances_, [](const auto& entry) { return entry.second.state == PluginState::kFailed; });
  }
  server_ = event;
  server_known_ = true;
}

bool PluginStates::another_runs(const std::pair<std::string, uint64_t>& failed) const {
  return std::any_of(instances_.lower_bound({failed.first, 0}),
                     instances_.upper_bound({failed.first, UINT64_MAX}),
                     [](const auto& entry) { return entry.second.state != PluginState::kFailed; });
}

void PluginStates::write(Page& page) const {
  std::lock_guard lock(mutex_);
  const auto plugins =
      page.family("atoll_plugin_state", "State of each plugin instance; 1 for the one it is in.",
                  prometheus::MetricType::Gauge);
  std::set<std::tuple<std::string, std::string, PluginState>> written;
  for (const auto& [key, instance] : instances_) {
    if (instance.state == PluginState::kFailed && another_runs(key)) continue;
    if (!written.emplace(key.first, instance.plugin, instance.state).second) continue;
    page.value(plugins,
               {{"instance", key.first},
                {"plugin", instance.plugin},
                {"state", std::string(name_of(instance.state))}},
               1);
  }
  if (!server_known_) return;
  const auto server = page.family("atoll_server_state", "State of the server; 1 for the one it is in.",
                                  prometheus::MetricType::Gauge);
  page.value(server, {{"state", std::string(name_of(server_.state))}}, 1);
  page.gauge("atoll_manifest_generation", "Generation of the manifest; grows with every applied reload.",
             static_cast<double>(server_.generation));
}

}  // namespace atl::frontends::metrics
