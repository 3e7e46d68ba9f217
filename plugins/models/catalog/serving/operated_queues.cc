#include "models/catalog/serving/operated_queues.h"

#include <algorithm>

#include "models/catalog/serving/served_model.h"

namespace atl::models {
namespace {

/// Requests that are taken out of a queue while others are held up.
constexpr uint64_t kMostAtOnce = 256;

const ModelParts& parts_of(const ModelRef& model) noexcept {
  return static_cast<const ServedModel*>(model.get())->parts();
}

/// Null: it has no functions for this.
Scheduler* operated(const ModelParts& parts) noexcept {
  const bool knows_how = parts.scheduler_provider.minor() >= SchedulerProvider::kOperatedMinor;
  return knows_how ? parts.scheduler.get() : nullptr;
}

Status cannot(const ModelRef& model) {
  return unimplemented("the scheduler of model '", model->info().name, "', of kind '",
                       parts_of(model).scheduler_provider->kind(),
                       "', neither cancels what waits nor can be drained");
}

bool is_same(const AdmissionShortage& a, const AdmissionShortage& b) noexcept {
  return a.resource == b.resource && a.global == b.global && (a.global || a.device_id == b.device_id);
}

}  // namespace

Result<ModelQueue> OperatedQueues::describe(std::string_view name, int64_t version) noexcept {
  Result<ModelRef> model = catalog_.acquire(name, version);
  if (!model.ok()) return std::move(model).status();
  const ModelParts& parts = parts_of(model.value());
  ModelQueue found;
  Scheduler* const scheduler = operated(parts);
  if (scheduler == nullptr) return found;
  found.is_described = true;
  found.queue = scheduler->describe_queue();
  if (found.queue.waits_for != QueueWait::kAdmission) return found;
  for (const AdmittedInstance* instance : parts.admission.instances()) {
    for (AdmissionShortage& one : instance->shortages()) {
      const auto same = std::find_if(found.shortages.begin(), found.shortages.end(),
                                     [&](const AdmissionShortage& other) { return is_same(one, other); });
      if (same == found.shortages.end()) found.shortages.push_back(std::move(one));
    }
  }
  return found;
}

Result<uint64_t> OperatedQueues::cancel_waiting(std::string_view name, int64_t version,
                                                uint64_t level) noexcept {
  Result<ModelRef> model = catalog_.acquire(name, version);
  if (!model.ok()) return std::move(model).status();
  Scheduler* const scheduler = operated(parts_of(model.value()));
  if (scheduler == nullptr) return cannot(model.value());
  // Clients may send others as quickly as these are taken out.
  const uint64_t wanted = scheduler->describe_queue().requests;
  uint64_t cancelled = 0;
  while (cancelled < wanted) {
    const uint64_t taken = scheduler->cancel_waiting(level, std::min(kMostAtOnce, wanted - cancelled));
    if (taken == 0) break;
    cancelled += taken;
  }
  return cancelled;
}

Status OperatedQueues::set_draining(std::string_view name, int64_t version, bool draining) noexcept {
  Result<ModelRef> model = catalog_.acquire(name, version);
  if (!model.ok()) return std::move(model).status();
  Scheduler* const scheduler = operated(parts_of(model.value()));
  std::lock_guard lock(mutex_);
  if (scheduler == nullptr || !scheduler->set_draining(draining)) return cannot(model.value());
  const Version key(name, model.value()->info().version);
  if (draining) {
    drained_.insert(key);
  } else {
    drained_.erase(key);
  }
  return {};
}

std::vector<DrainedVersion> OperatedQueues::draining() noexcept {
  std::lock_guard lock(mutex_);
  std::erase_if(drained_, [this](const Version& version) {
    const Result<ModelQueue> queue = describe(version.first, version.second);
    return !queue.ok() || !queue.value().queue.is_draining;
  });
  std::vector<DrainedVersion> all;
  for (const auto& [model, version] : drained_) all.push_back({model, version});
  return all;
}

}  // namespace atl::models
