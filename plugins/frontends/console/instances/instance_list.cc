#include "frontends/console/instances/instance_list.h"

#include <algorithm>

#include "atoll/lib/json_writer.h"

namespace atl::frontends::console {
namespace {

using State = PluginStateChanged::State;

/// Two instances may have one name, so that no event may take another one's place.
constexpr SubscriptionOptions kEach{.depth = 4096, .overflow = Overflow::kDropOldest};

}  // namespace

std::string instances_json(const InstancesView& view, const ProcessStart& start) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "generation", view.generation);
    write_member(json, "draining", view.is_draining);
    write_array(json, "instances", view.instances, [&](const ListedInstance& instance) {
      write_object(json, [&] {
        write_member(json, "name", instance.name);
        write_member(json, "plugin", instance.plugin);
        write_member(json, "state", lifecycle_state_name(instance.state));
        write_member(json, "generation", instance.generation);
        write_member(json, "reason", instance.reason);
        write_array(json, "services", instance.services,
                    [&](const std::string& service) { write_text(json, service); });
      });
    });
  });
}

Status InstanceList::open() {
  ATOLL_RETURN_IF_ERROR(server_news_.open(host_.events()));
  ATOLL_RETURN_IF_ERROR(plugin_news_.open(host_.events(), kEach));
  ATOLL_RETURN_IF_ERROR(service_news_.open(host_.events(), kEach));
  return reload_news_.open(host_.events(), kEach);
}

void InstanceList::close() noexcept {
  reload_news_.reset();
  service_news_.reset();
  plugin_news_.reset();
  server_news_.reset();
}

InstancesView InstanceList::view() const {
  std::lock_guard lock(mutex_);
  InstancesView view = server_;
  for (const auto& [key, instance] : instances_) {
    view.instances.push_back(instance);
    const auto services = services_.find(instance.name);
    // The services are those of the one that serves.
    if (instance.state == State::kActive && services != services_.end())
      view.instances.back().services = services->second;
  }
  return view;
}

void InstanceList::hear(const ServerStateChanged& event) {
  std::lock_guard lock(mutex_);
  server_.generation = event.generation;
  server_.is_draining = event.state == ServerStateChanged::State::kDraining;
}

void InstanceList::hear(const PluginStateChanged& event) {
  const std::string name(event.instance.view());
  std::lock_guard lock(mutex_);
  if (event.state == State::kDestroyed || event.state == State::kUnloaded) {
    instances_.erase({name, event.generation});
    return;
  }
  ListedInstance& instance = instances_[{name, event.generation}];
  instance = {
      name, std::string(event.plugin.view()), event.state, event.generation, std::string(event.reason.view()),
      {}};
}

void InstanceList::hear(const ServiceChanged& event) {
  const std::string id(event.interface_id.view());
  std::lock_guard lock(mutex_);
  std::vector<std::string>& ids = services_[std::string(event.instance.view())];
  const auto place = std::lower_bound(ids.begin(), ids.end(), id);
  const bool is_there = place != ids.end() && *place == id;
  if (event.kind == ServiceChanged::Kind::kWithdrawn) {
    if (is_there) ids.erase(place);
    if (ids.empty()) services_.erase(std::string(event.instance.view()));
  } else if (!is_there) {
    ids.insert(place, id);
  }
}

void InstanceList::hear(const ReloadChanged& event) {
  if (event.state == ReloadChanged::State::kBegun) return;
  // What has failed is in the list until the manifest that it was made for is refused, or another one is applied.
  const bool is_refused = event.state == ReloadChanged::State::kRefused;
  std::lock_guard lock(mutex_);
  std::erase_if(instances_, [&](const auto& one) {
    const ListedInstance& instance = one.second;
    return is_refused ? instance.generation > event.generation
                      : instance.state == State::kFailed && instance.generation < event.generation;
  });
}

}  // namespace atl::frontends::console
