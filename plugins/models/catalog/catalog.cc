#include "models/catalog/catalog.h"

#include <algorithm>
#include <map>
#include <utility>

namespace atl::models {
namespace {

constexpr std::string_view kDuplicateReason = "model appears in two or more repositories";

LoadCall::Done with_names(std::vector<std::string> models,
                          std::function<void(std::vector<ModelLoadResult>)> done) {
  return [models = std::move(models), done = std::move(done)](std::vector<ModelLoadOutcome> outcomes) {
    std::vector<ModelLoadResult> results;
    for (size_t i = 0; i < models.size(); ++i) results.push_back({models[i], std::move(outcomes[i].status)});
    done(std::move(results));
  };
}

}  // namespace

Catalog::Catalog(Host& host, CatalogOptions options)
    : loader_options_(std::move(options.loader)),
      strict_readiness_(options.strict_readiness),
      admission_(host),
      observers_(host),
      cache_(host),
      work_(host),
      serving_{
          shards_, host.workers(), {host.clock(), admission_, observers_, cache_}, &work_, &counts_.active()},
      finishing_(shards_, host.clock(), host.executors()),
      table_(shards_, finishing_),
      lifecycle_(host, table_),
      counts_(shards_, table_, lifecycle_),
      host_(host) {
  finishing_.set_time_ns(options.sequence_time_ns);
  if (loader_options_.namespacing) table_.use_namespaces();
}

void Catalog::start(Repository& repository, ModelConfigs& configs) {
  repository_ = &repository;
  loader_.emplace(host_, repository, configs, serving_, *this, std::move(loader_options_));
  lifecycle_.use(&*loader_);
  follow_admission();
  follow_observers();
  if (Status status = cache_.open(); !status.ok()) {
    host_.log().error("no response cache is used: ", status.text());
  }
  phase_.store(ServerPhase::kServing, std::memory_order_release);
}

void Catalog::follow(const CatalogOptions& next) {
  strict_readiness_.store(next.strict_readiness, std::memory_order_relaxed);
  finishing_.set_time_ns(next.sequence_time_ns);
  loader_->use(next.loader);
}

void Catalog::look_again(const std::optional<std::vector<std::string>>& paths) {
  if (paths) lifecycle_.let_go_of_removed(*repository_, *paths);
  lifecycle_.retry_failed();
}

void Catalog::drain() {
  phase_.store(ServerPhase::kEnded, std::memory_order_release);
  finishing_.end();
  lifecycle_.end();
  admission_.leave();
  observers_.leave();
  cache_.close();
}

void Catalog::service_changed(const ServiceChanged& event) {
  if (event.interface_id.view() == RequestAdmission::kInterfaceId) {
    follow_admission();
  } else if (event.interface_id.view() == RequestObserver::kInterfaceId) {
    follow_observers();
  } else {
    lifecycle_.service_changed(event);
  }
}

void Catalog::follow_admission() {
  if (phase_.load(std::memory_order_acquire) == ServerPhase::kEnded) return;
  if (const size_t count = admission_.follow(); count > kProvidersMax) {
    host_.log().error("requests are admitted without asking everybody: ", count,
                      " providers of request admission are enabled, at most ", kProvidersMax,
                      " are asked: those of the highest ranks");
  }
}

void Catalog::follow_observers() {
  if (phase_.load(std::memory_order_acquire) == ServerPhase::kEnded) return;
  if (const size_t count = observers_.follow(); count > kProvidersMax) {
    host_.log().error(count, " plugins observe requests, at most ", kProvidersMax,
                      " are told of them: those of the highest ranks");
  }
}

void Catalog::server_state_changed(ServerStateChanged::State state) {
  if (state == ServerStateChanged::State::kActive) server_is_active_.store(true, std::memory_order_release);
  if (state != ServerStateChanged::State::kDraining) return;
  ServerPhase expected = ServerPhase::kServing;
  exit_began_ns_.store(host_.clock().now_ns(), std::memory_order_release);
  if (phase_.compare_exchange_strong(expected, ServerPhase::kExiting)) lifecycle_.stop_accepting();
}

Status Catalog::check_phase() const {
  switch (phase_.load(std::memory_order_acquire)) {
    case ServerPhase::kNotReady:
      return unavailable("Server not ready");
    case ServerPhase::kEnded:
      return unavailable("Server exiting");
    default:
      return {};
  }
}

Result<ModelRef> Catalog::acquire(std::string_view name, int64_t version) noexcept {
  if (ModelRef model = table_.acquire(name, version)) return model;
  ATOLL_RETURN_IF_ERROR(check_phase());
  return lifecycle_.read([&](const ModelRecords& records) { return records.lookup_failure(name, version); });
}

bool Catalog::live() const noexcept {
  ServerPhase phase = phase_.load(std::memory_order_acquire);
  if (phase == ServerPhase::kServing) return repository_->is_complete();
  return phase == ServerPhase::kExiting;
}

bool Catalog::ready() const noexcept {
  if (phase_.load(std::memory_order_acquire) != ServerPhase::kServing || !repository_->is_complete())
    return false;
  if (!complete() || !server_is_active_.load(std::memory_order_acquire)) return false;
  if (!strict_readiness_.load(std::memory_order_relaxed)) return true;
  return unready().models == 0;
}

bool Catalog::exiting() const noexcept {
  ServerPhase phase = phase_.load(std::memory_order_acquire);
  return phase == ServerPhase::kExiting || phase == ServerPhase::kEnded;
}

Result<std::vector<int64_t>> Catalog::ready_versions(std::string_view name) const noexcept {
  return ready_versions_of(name, name);
}

Result<std::vector<int64_t>> Catalog::ready_versions_of(std::string_view model,
                                                        std::string_view shown) const {
  return lifecycle_.read([&](const ModelRecords& records) -> Result<std::vector<int64_t>> {
    const ModelRecord* record = records.find(model);
    if (record == nullptr || record->versions.empty()) {
      return records.lookup_failure(model, ModelCatalog::kLatest, shown);
    }
    return record->ready_versions();
  });
}

Result<std::vector<ModelStatistics>> Catalog::statistics(std::string_view name,
                                                         int64_t version) const noexcept {
  return counts_.of(name, version, [name](std::string_view model) { return model == name; });
}

/// Only when the outcome differs from the one before, because clients ask for the index again and again.
void Catalog::log_listing(const Status& outcome) {
  const std::string failure = outcome.ok() ? std::string() : outcome.text();
  std::string before;
  {
    std::scoped_lock lock(listing_mutex_);
    before = std::exchange(listing_failure_, failure);
  }
  if (before == failure) return;
  if (failure.empty()) {
    host_.log().info("the model repositories can be listed again: the index has all models");
  } else {
    host_.log().warning("the index has only models that are or were loaded: ", failure);
  }
}

Result<std::vector<ModelIndexEntry>> Catalog::index(bool ready_only) noexcept {
  ATOLL_RETURN_IF_ERROR(check_phase());
  Result<std::vector<RepositoryEntry>> listed = repository_->list();
  std::map<std::string, uint32_t> directories;
  if (listed.ok()) {
    for (const RepositoryEntry& entry : listed.value()) ++directories[entry.name];
    log_listing({});
  } else if (lifecycle_.read([](const ModelRecords& records) { return records.all().empty(); })) {
    return std::move(listed).status();
  } else {
    log_listing(listed.status());  // what was loaded serves all the same
  }
  return lifecycle_.read([&](const ModelRecords& records) {
    for (const auto& [model, record] : records.all()) {
      if (!record.is_unloaded()) directories.try_emplace(model, 0);
    }
    std::vector<ModelIndexEntry> entries;
    for (const auto& [model, count] : directories) {
      if (count > 1) {
        entries.push_back({model, "", std::string(model_state_name(ModelState::kUnavailable)),
                           std::string(kDuplicateReason)});
        // A version that was loaded while the name was unique may still serve.
        (void)records.append_index(model, true, &entries);
      } else if (!records.append_index(model, ready_only, &entries) && !ready_only && count == 1) {
        entries.push_back({model, "", "", ""});
      }
    }
    for (ModelIndexEntry& entry : entries) {
      if (entry.reason.empty()) entry.reason = repository_->remark(entry.name);
    }
    return entries;
  });
}

void Catalog::load(std::vector<std::string> models,
                   std::function<void(std::vector<ModelLoadResult>)> done) noexcept {
  lifecycle_.load(models, with_names(models, std::move(done)));
}

void Catalog::unload(std::vector<std::string> models,
                     std::function<void(std::vector<ModelLoadResult>)> done) noexcept {
  lifecycle_.unload(models, with_names(models, std::move(done)));
}

void Catalog::load_model(ModelLoadRequest request, std::function<void(ModelLoadOutcome)> done) noexcept {
  lifecycle_.load(std::move(request), std::move(done));
}

void Catalog::unload_model(std::string model, bool with_members, std::function<void(Status)> done) noexcept {
  lifecycle_.unload(model, with_members);
  done({});
}

void Catalog::set_startup_complete() noexcept {
  lifecycle_.end_startup();
  // A server that ends does not open its ports any more: a probe would take it for ready.
  if (exiting()) return;
  startup_complete_.store(true, std::memory_order_release);
  if (!strict_readiness_.load(std::memory_order_relaxed)) return;
  const Unready found = unready();
  if (found.models == 0) return;
  // Of several versions each ends in ';'.
  std::string_view reason = std::string_view(found.reason).substr(0, found.reason.find('\n'));
  while (reason.ends_with(';')) reason.remove_suffix(1);
  const std::string more = found.models == 1 ? "" : cat(" (and ", found.models - 1, " more)");
  host_.log().error("the server is not ready because of model '", found.model, "'", more, ": ", reason,
                    "; correct or unload ", more.empty() ? "it" : "them", ", or set plugin.",
                    host_.instance_name(),
                    ".strict_readiness = false, with which the other models are served as ready");
}

Unready Catalog::unready() const {
  return lifecycle_.read([](const ModelRecords& records) { return records.unready(); });
}

}  // namespace atl::models
