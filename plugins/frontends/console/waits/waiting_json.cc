#include "frontends/console/waits/waiting_json.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "atoll/lib/json_writer.h"
#include "frontends/console/answer_json.h"
#include "frontends/console/counts/sequences_json.h"
#include "frontends/console/counts/tenants_json.h"

namespace atl::frontends::console {
namespace {

constexpr CountColumn<ResourceUse> kResourceColumns[] = {
    {"atoll_rate_limiter_resource_copies", &ResourceUse::copies},
    {"atoll_rate_limiter_resource_copies_in_use", &ResourceUse::in_use},
    {"atoll_rate_limiter_waiting_instances", &ResourceUse::waiting_instances}};

void write_resources(CheckedWriter& json, std::string_view name, const std::vector<ResourceUse>& resources) {
  write_array(json, name, resources, [&](const ResourceUse& one) {
    write_object(json, [&] {
      write_member(json, "name", one.name);
      write_member(json, "device", one.device);
      write_member(json, "copies", static_cast<uint64_t>(one.copies));
      write_member(json, "in_use", static_cast<uint64_t>(one.in_use));
      write_member(json, "waiting_instances", static_cast<uint64_t>(one.waiting_instances));
    });
  });
}

void write_needs(CheckedWriter& json, const WaitingModel& model, const ModelNeeds& needs,
                 const std::vector<ResourceUse>& resources) {
  write_member(json, "instances", needs.instances);
  write_member(json, "max_batch_size", needs.max_batch_size);
  write_member(json, "queue_delay_us", needs.queue_delay_us);
  write_member(json, "queue_size", needs.queue_size);
  write_array(json, "needs", needs.resources, [&](const NeededResource& one) {
    write_object(json, [&] {
      write_member(json, "name", one.name);
      write_member(json, "count", one.count);
      write_member(json, "global", one.is_global);
    });
  });
  const std::vector<ResourceUse> scarce = scarce_of(resources, needs);
  const bool may_fill_up =
      needs.is_dynamic && needs.queue_delay_us > 0 && model.pending < needs.max_batch_size;
  write_member(json, "waits_for", !scarce.empty() ? "resource" : may_fill_up ? "batch" : "instance");
  write_resources(json, "scarce", scarce);
}

void write_model(CheckedWriter& json, const WaitingModel& model, ModelCatalog& catalog,
                 const std::vector<ResourceUse>& resources) {
  write_object(json, [&] {
    write_member(json, "name", model.name);
    write_member(json, "version", std::to_string(model.version));
    write_member(json, "pending", model.pending);
    write_member(json, "mean_queue_us",
                 model.queue.count == 0 ? 0 : model.queue.ns / model.queue.count / uint64_t{kNsPerUs});
    const Result<ModelRef> held = catalog.acquire(model.name, model.version);
    if (!held.ok()) return;  // it has just gone
    if (const std::optional<ModelNeeds> needs = model_needs(held.value()->info().config); needs)
      write_needs(json, model, *needs, resources);
  });
}

}  // namespace

std::vector<ResourceUse> resources_of(const CountReading& reading) {
  std::map<std::pair<std::string_view, std::string_view>, ResourceUse> found;
  for (const auto& column : kResourceColumns) {
    for (const CountedSample& sample : reading.of(column.family)) {
      const std::string_view name = sample.label("resource"), device = sample.label("device");
      ResourceUse& one = found[{name, device}];
      one.name = name;
      one.device = device;
      one.*column.member += sample.value;
    }
  }
  std::vector<ResourceUse> all;
  for (auto& [key, one] : found) all.push_back(std::move(one));
  return all;
}

std::vector<ResourceUse> scarce_of(const std::vector<ResourceUse>& resources, const ModelNeeds& needs) {
  std::vector<ResourceUse> scarce;
  for (const ResourceUse& one : resources) {
    if (one.waiting_instances == 0) continue;
    const bool lacks =
        std::any_of(needs.resources.begin(), needs.resources.end(), [&](const NeededResource& needed) {
          return needed.name == one.name && needed.is_global == (one.device == "global") &&
                 one.in_use + needed.count > one.copies;
        });
    if (lacks) scarce.push_back(one);
  }
  return scarce;
}

std::string waiting_json(const CatalogLook& look, ModelCatalog& catalog, const CountReading& reading,
                         const ProcessStart& start, const Identity* identity) {
  const bool sees_all = may_see_all(identity);
  const std::vector<ResourceUse> resources = resources_of(reading);
  std::vector<CountedTenant> tenants = tenants_of(reading);
  std::erase_if(tenants, [&](const CountedTenant& one) {
    return one.waiting == 0 || !(sees_all || one.name == identity->tenant());
  });
  std::vector<CountedSequences> sequences = sequences_of(reading, identity);
  std::erase_if(sequences, [](const CountedSequences& one) { return one.backlog == 0; });
  if (sequences.size() > CatalogLook::kMostPending) sequences.resize(CatalogLook::kMostPending);
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "time_ms", look.wall_ms);
    if (sees_all) {
      const RequestsNow now = catalog.requests_now();
      write_member(json, "waiting", now.waiting);
      write_member(json, "running", now.running);
    }
    uint64_t shown = 0;
    write_key(json, "models");
    json.StartArray();
    for (const WaitingModel& model : look.pending) {
      if (!may_see(identity, model.name)) continue;
      write_model(json, model, catalog, resources);
      ++shown;
    }
    json.EndArray();
    write_member(json, "matching", sees_all ? look.pending_models : shown);
    write_resources(json, "resources", sees_all ? resources : std::vector<ResourceUse>());
    write_array(json, "tenants", tenants, [&](const CountedTenant& one) { write_tenant(json, one); });
    write_array(json, "sequences", sequences,
                [&](const CountedSequences& one) { write_sequences(json, one); });
  });
}

}  // namespace atl::frontends::console
