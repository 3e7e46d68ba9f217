#include "frontends/console/waits/waiting_json.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
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

uint64_t age_ms(int64_t since_ns, int64_t now_ns) noexcept {
  return since_ns == 0 || now_ns <= since_ns ? 0 : static_cast<uint64_t>((now_ns - since_ns) / kNsPerMs);
}

void write_queue(CheckedWriter& json, const QueueDescription& queue, int64_t now_ns) {
  write_member(json, "requests", queue.requests);
  write_member(json, "oldest_ms", age_ms(queue.oldest_ns, now_ns));
  write_member(json, "input_bytes", queue.sampled_bytes);
  write_member(json, "input_bytes_of", queue.sampled_requests);
  write_array(json, "levels", std::span(queue.levels).first(queue.level_count),
              [&](const WaitingLevel& level) {
                write_object(json, [&] {
                  write_member(json, "priority", level.level);
                  write_member(json, "requests", level.requests);
                  write_member(json, "oldest_ms", age_ms(level.oldest_ns, now_ns));
                });
              });
  write_member(json, "draining", queue.is_draining);
  if (queue.waits_for != QueueWait::kBatch) return;
  write_object(json, "batch", [&] {
    write_member(json, "requests", queue.batch_requests);
    write_member(json, "size", queue.batch_size);
    write_member(json, "size_max", queue.batch_size_max);
    if (queue.batch_goes_ns != 0) write_member(json, "goes_in_ms", age_ms(now_ns, queue.batch_goes_ns));
  });
}

void write_shortages(CheckedWriter& json, const std::vector<AdmissionShortage>& shortages) {
  write_array(json, "shortages", shortages, [&](const AdmissionShortage& one) {
    write_object(json, [&] {
      write_member(json, "name", one.resource);
      write_member(json, "device", one.global ? std::string("global") : std::to_string(one.device_id));
      write_member(json, "copies", one.copies);
      write_member(json, "in_use", one.in_use);
      write_member(json, "kept", one.kept);
      write_member(json, "needed", one.needed);
    });
  });
}

/// What the scheduler and the admission say.
std::string_view what_for(const ModelQueue& found) noexcept {
  const bool lacks = std::any_of(found.shortages.begin(), found.shortages.end(),
                                 [](const AdmissionShortage& one) { return !one.resource.empty(); });
  switch (found.queue.waits_for) {
    case QueueWait::kNothing:
      return "nothing";
    case QueueWait::kInstance:
      return "instance";
    case QueueWait::kBatch:
      return "batch";
    case QueueWait::kRoom:
      return "room";
    case QueueWait::kSlot:
      return "slot";
    case QueueWait::kAdmission:
      break;
  }
  return lacks ? "resource" : "turn";
}

/// A guess, where nobody looks into the queue.
std::string_view probably_for(const WaitingModel& model, const ModelNeeds& needs, bool is_scarce) noexcept {
  if (is_scarce) return "resource";
  const bool may_fill_up =
      needs.is_dynamic && needs.queue_delay_us > 0 && model.pending < needs.max_batch_size;
  return may_fill_up ? "batch" : "instance";
}

void write_needs(CheckedWriter& json, const ModelNeeds& needs) {
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
}

ModelQueue queue_of(const WaitingSources& from, const WaitingModel& model) {
  if (from.queues == nullptr) return {};
  Result<ModelQueue> found = from.queues->describe(model.name, model.version);
  return found.ok() ? std::move(found).value() : ModelQueue();
}

void write_model(CheckedWriter& json, const WaitingSources& from, const WaitingModel& model,
                 const std::vector<ResourceUse>& resources) {
  write_object(json, [&] {
    write_member(json, "name", model.name);
    write_member(json, "version", std::to_string(model.version));
    write_member(json, "pending", model.pending);
    write_member(json, "mean_queue_us",
                 model.queue.count == 0 ? 0 : model.queue.ns / model.queue.count / uint64_t{kNsPerUs});
    const Result<ModelRef> held = from.catalog.acquire(model.name, model.version);
    if (!held.ok()) return;  // it has just gone
    const std::optional<ModelNeeds> needs = model_needs(held.value()->info().config);
    if (!needs) return;
    write_needs(json, *needs);
    const std::vector<ResourceUse> scarce = scarce_of(resources, *needs);
    const ModelQueue found = queue_of(from, model);
    write_member(json, "waits_for",
                 found.is_described ? what_for(found) : probably_for(model, *needs, !scarce.empty()));
    write_resources(json, "scarce", scarce);
    if (!found.is_described) return;
    write_object(json, "queue", [&] { write_queue(json, found.queue, from.now_ns); });
    write_shortages(json, found.shortages);
    write_member(json, "may_act", from.may_act && may_act_on(from.identity, model.name));
  });
}

/// Those with most requests that wait, and then those that are drained and have none.
std::vector<WaitingModel> models_of(const WaitingSources& from) {
  std::vector<WaitingModel> models = from.look.pending;
  const std::vector<DrainedVersion> drained =
      from.queues == nullptr ? std::vector<DrainedVersion>() : from.queues->draining();
  for (const DrainedVersion& one : drained) {
    const bool is_listed = std::any_of(models.begin(), models.end(), [&](const WaitingModel& model) {
      return model.name == one.model && model.version == one.version;
    });
    if (!is_listed && models.size() < 2 * CatalogLook::kMostPending)
      models.push_back({one.model, one.version, 0, {}});
  }
  std::erase_if(models, [&](const WaitingModel& model) { return !may_see(from.identity, model.name); });
  return models;
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

std::string waiting_json(const WaitingSources& from) {
  const bool sees_all = may_see_all(from.identity);
  const std::vector<ResourceUse> resources = resources_of(from.reading);
  const std::vector<WaitingModel> models = models_of(from);
  std::vector<CountedTenant> tenants = tenants_of(from.reading);
  std::erase_if(tenants, [&](const CountedTenant& one) {
    return one.waiting == 0 || !(sees_all || one.name == from.identity->tenant());
  });
  std::vector<CountedSequences> sequences = sequences_of(from.reading, from.identity);
  std::erase_if(sequences, [](const CountedSequences& one) { return one.backlog == 0; });
  if (sequences.size() > CatalogLook::kMostPending) sequences.resize(CatalogLook::kMostPending);
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", from.start.run);
    write_member(json, "time_ms", from.look.wall_ms);
    if (sees_all) {
      const RequestsNow now = from.catalog.requests_now();
      write_member(json, "waiting", now.waiting);
      write_member(json, "running", now.running);
    }
    write_array(json, "models", models,
                [&](const WaitingModel& model) { write_model(json, from, model, resources); });
    const auto waiting = static_cast<uint64_t>(
        std::count_if(models.begin(), models.end(), [](const WaitingModel& one) { return one.pending > 0; }));
    write_member(json, "matching", sees_all ? from.look.pending_models : waiting);
    write_resources(json, "resources", sees_all ? resources : std::vector<ResourceUse>());
    write_array(json, "tenants", tenants, [&](const CountedTenant& one) { write_tenant(json, one); });
    write_array(json, "sequences", sequences,
                [&](const CountedSequences& one) { write_sequences(json, one); });
  });
}

}  // namespace atl::frontends::console
