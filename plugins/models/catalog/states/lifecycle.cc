#include "models/catalog/states/lifecycle.h"

#include <algorithm>
#include <map>
#include <set>

namespace atl::models {
namespace {

/// The gravest of what becomes of the versions that are served.
Consequence consequence_for(const ChangedService& change, const ModelRecord& record,
                            std::span<SchedulerOffer> offers) {
  if (!record.loading && record.is_helped_by(change)) return {Effect::kRebuild};
  Consequence gravest;
  for (const auto& [number, version] : record.versions) {
    if (version.served == nullptr) continue;
    Consequence one = consequence_of(change, version.served->parts(), offers);
    if (one.effect > gravest.effect) gravest = std::move(one);
  }
  return gravest;
}

}  // namespace

void ModelLifecycle::load(const std::vector<std::string>& models, LoadCall::Done done) {
  Host& host = state_.host;
  auto call = std::make_shared<LoadCall>(host.workers(), host.gate(), models.size(), std::move(done));
  // All are registered before the first one is built, so an ensemble finds its members loading.
  std::vector<ModelLoad::Ptr> loads;
  bool refused = false;
  {
    std::scoped_lock lock(state_.mutex);
    refused = state_.ending;
    for (size_t i = 0; !refused && i < models.size(); ++i) {
      LoadOrder order;
      order.requested = true;
      order.startup = state_.starting;
      order.callbacks.push_back([call, i](const ModelLoadOutcome& outcome) { call->finish(i, outcome); });
      loads.push_back(ModelLoad::line_up(state_, models[i], std::move(order)));
    }
  }
  for (size_t i = 0; refused && i < models.size(); ++i) call->finish(i, {unavailable("Server exiting")});
  for (const ModelLoad::Ptr& load : loads) {
    if (load != nullptr) load->start();
  }
  call->all_begun();
}

void ModelLifecycle::load(ModelLoadRequest request, ModelDone done) {
  LoadOrder order;
  order.config = std::move(request.config);
  order.files = std::move(request.files);
  order.requested = true;
  order.by_client = true;
  order.refresh_members = request.refresh_members;
  order.awaits_departures = true;
  order.callbacks.push_back([done = std::move(done)](const ModelLoadOutcome& outcome) {
    done({outcome.status.clone(), outcome.was_read});
  });
  ModelLoad::request(state_, request.model, std::move(order));
}

void ModelLifecycle::end_startup() {
  std::scoped_lock lock(state_.mutex);
  state_.starting = false;
}

void ModelLifecycle::unload(const std::vector<std::string>& models, LoadCall::Done done) {
  Host& host = state_.host;
  auto call = std::make_shared<LoadCall>(host.workers(), host.gate(), models.size(), std::move(done));
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(state_.mutex);
    for (const std::string& model : models) unload_by_name(state_, model, &cancelled);
  }
  notify_all(cancelled, outdated(), true);
  for (size_t i = 0; i < models.size(); ++i) call->finish(i, {});
  call->all_begun();
}

void ModelLifecycle::unload(const std::string& model, bool with_members) {
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(state_.mutex);
    std::vector<EnsembleMember> members;
    if (ModelRecord* record = state_.records.find(model); record != nullptr) members = record->members;
    unload_by_name(state_, model, &cancelled);
    if (with_members) unload_members(state_, members, &cancelled);
  }
  notify_all(cancelled, outdated(), true);
}

void ModelLifecycle::stop_accepting() {
  std::scoped_lock lock(state_.mutex);
  std::set<std::string, std::less<>> members;
  for (const auto& [model, record] : state_.records.all()) {
    for (const EnsembleMember& member : record.members) members.insert(member.model);
  }
  for (const auto& [model, record] : state_.records.all()) {
    if (members.contains(model)) continue;
    for (const auto& [number, version] : record.versions) {
      if (version.served != nullptr) version.served->stop_accepting();
    }
  }
}

void ModelLifecycle::end() {
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(state_.mutex);
    state_.ending = true;
    std::vector<std::string> models;
    for (const auto& [model, record] : state_.records.all()) models.push_back(model);
    for (const std::string& model : models) unload_by_name(state_, model, &cancelled);
  }
  notify_all(cancelled, unavailable("Server exiting"));
}

void ModelLifecycle::visit(const LongWork::See& see) const {
  std::scoped_lock lock(state_.mutex);
  state_.live.each([&](const ServedModel& version) {
    const ModelParts& parts = version.parts();
    for (size_t i = 0; i < parts.instances.size(); ++i) {
      see(parts.instances[i].get(), parts.instances[i]->execution(), [&, i] {
        return cat("model '", version.info().name, "' version ", version.info().version, ", instance ",
                   parts.specs[i]->name);
      });
    }
  });
}

std::string ModelLifecycle::holding() const {
  std::string text;
  auto add = [&](std::string_view what) { text += cat(text.empty() ? "" : ", ", what); };
  const std::vector<std::string> running =
      state_.loader == nullptr ? std::vector<std::string>() : state_.loader->running();
  for (const std::string& one : running) add(one);
  std::scoped_lock lock(state_.mutex);
  for (const auto& [model, count] : state_.live.holders()) {
    if (count == 0) continue;
    add(cat(count, count == 1 ? " request of model '" : " requests of model '", model, "'"));
  }
  for (const auto& [model, record] : state_.records.all()) {
    const std::string quoted = cat("model '", model, "'");
    const bool told = std::any_of(running.begin(), running.end(), [&](const std::string& one) {
      return one.find(quoted) != std::string::npos;
    });
    if (record.loading && !told) add(cat("the load of ", quoted));
  }
  return text;
}

void ModelLifecycle::service_changed(const ServiceChanged& event) {
  const ChangedService change{event.interface_id.view(), event.instance.view(), event.kind};
  std::vector<SchedulerOffer> offers;
  if (change.interface_id == SchedulerProvider::kInterfaceId) {
    offers = scheduler_offers(state_.host.registry());
    announce(change, offers);
  }
  struct Move {
    std::string model, from, to;
  };
  std::vector<Move> moves;
  std::vector<std::string> rebuilt, removed;
  std::vector<LoadDone> cancelled;
  const std::string reason = removal_text(change);
  {
    std::scoped_lock lock(state_.mutex);
    state_.services.note(change);
    if (state_.ending) return;
    std::vector<Want> wants;
    for (const auto& [model, record] : state_.records.all()) {
      Consequence consequence = consequence_for(change, record, offers);
      if (consequence.effect == Effect::kRebuild) rebuilt.push_back(model);
      if (consequence.effect == Effect::kReschedule) {
        moves.push_back({model, consequence.cause->instance, std::move(consequence.scheduler)});
      }
      if (consequence.effect != Effect::kTakeDown) continue;
      removed.push_back(model);
      wants.push_back(want_of(*consequence.cause));
    }
    for (size_t i = 0; i < removed.size(); ++i) take_down(state_, removed[i], wants[i], reason, &cancelled);
  }
  notify_all(cancelled, outdated(), true);
  for (const std::string& model : removed) {
    state_.host.log().warning("model '", model, "' is taken out of service: ", reason);
  }
  for (const std::string& model : rebuilt) ModelLoad::request(state_, model, rebuild_order());
  for (const auto& [model, from, to] : moves) {
    if (from != to) {
      state_.host.log().info("model '", model, "': scheduler '", to, "' takes over from '", from, "'");
    }
    ModelLoad::request(state_, model, reschedule_order());
  }
}

void ModelLifecycle::let_go_of_removed(Repository& repository, const std::vector<std::string>& paths) {
  const std::set<std::string> there(paths.begin(), paths.end());
  std::map<std::string, std::string> homeless;  // with where they were
  {
    std::scoped_lock lock(state_.mutex);
    for (const auto& [model, record] : state_.records.all()) {
      if (record.loaded == nullptr || record.loaded->directory != nullptr) continue;
      const PreparedModel& loaded = *record.loaded;
      const RepositoryEntry& entry = loaded.original != nullptr ? loaded.original->entry : loaded.files.entry;
      if (!entry.repository.empty() && !there.contains(entry.repository)) {
        homeless.emplace(model, entry.repository);
      }
    }
  }
  std::vector<LoadDone> cancelled;
  for (const auto& [model, where] : homeless) {
    if (repository.open(model).ok()) {
      LoadOrder order;
      order.requested = true;
      ModelLoad::request(state_, model, std::move(order));
      continue;
    }
    state_.host.log().info("model '", model, "' is unloaded: its repository '", where,
                           "' is not in the manifest any more");
    std::scoped_lock lock(state_.mutex);
    unload_by_name(state_, model, &cancelled);
  }
  notify_all(cancelled, outdated(), true);
}

void ModelLifecycle::retry_failed() {
  std::vector<std::string> failed;
  {
    std::scoped_lock lock(state_.mutex);
    for (const auto& [model, record] : state_.records.all()) {
      if (!record.loading && record.has_failed()) failed.push_back(model);
    }
  }
  for (const std::string& model : failed) ModelLoad::request(state_, model, rebuild_order());
}

void ModelLifecycle::announce(const ChangedService& change, const std::vector<SchedulerOffer>& offers) {
  for (const SchedulerOffer& offer : offers) {
    if (change.kind != ServiceChanged::Kind::kPublished || offer.instance != change.instance) continue;
    if (is_asked_for(offer.provider->kind())) continue;
    state_.host.log().info("scheduler '", offer.instance, "' is of a kind of its own, '",
                           offer.provider->kind(),
                           "': it serves the models whose parameter 'scheduler' names it, and those whose "
                           "configuration it knows as its own");
  }
}

}  // namespace atl::models
