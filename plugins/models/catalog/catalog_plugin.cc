#include "models/catalog/catalog_plugin.h"

#include <memory>
#include <utility>
#include <vector>

#include "atoll/lib/backend_settings.h"

namespace atl::models {
namespace {

CatalogOptions read_options(const Options& options) {
  CatalogOptions catalog;
  catalog.strict_readiness = options.get_bool("strict_readiness");
  catalog.sequence_time_ns = options.get_duration_ns("sequence_drain");
  catalog.loader.auto_complete = options.get_bool("auto_complete_config");
  catalog.loader.default_max_batch_size = options.get_int("default_max_batch_size");
  catalog.loader.namespacing = options.get_bool("namespacing");
  catalog.loader.retries = static_cast<uint32_t>(options.get_int("load_retry_count"));
  catalog.loader.warmup_timeout_ns = options.get_duration_ns("warmup_timeout");
  catalog.loader.settings = options.get_map("backend_settings");
  // What is wrong with them check() said.
  if (auto policies = read_host_policies(options.get_map("host_policies")); policies.ok()) {
    catalog.loader.host_policies = std::move(policies).value();
  }
  if (auto limits = read_gpu_load_limits(options.get_map("gpu_load_limit")); limits.ok()) {
    catalog.loader.gpu_load_limits = std::move(limits).value();
  }
  return catalog;
}

}  // namespace

CatalogPlugin::CatalogPlugin(Host& host) : host_(host), catalog_(host, read_options(host.options())) {
  if (host.options().get_bool("namespacing")) namespaced_.emplace(host, catalog_);
  queues_.emplace(catalog());
}

ModelCatalog& CatalogPlugin::catalog() noexcept {
  if (namespaced_) return *namespaced_;
  return catalog_;
}

void CatalogPlugin::check(OptionCheck& check) {
  check.map("host_policies", &read_host_policies);
  check.map("gpu_load_limit", &read_gpu_load_limits);
  check_backend_settings(check, "backend_settings");
}

bool CatalogPlugin::can_follow(const Options& next) noexcept {
  ProblemLines problems(next);
  check(problems);
  // With another value of namespacing models have other names.
  return problems.passed() && next.get_bool("namespacing") == namespaced_.has_value();
}

void CatalogPlugin::follow(const Options& next) noexcept { catalog_.follow(read_options(next)); }

void CatalogPlugin::look_again() noexcept {
  auto pass = std::make_shared<Pass>(host_.gate());
  if (!*pass) return;
  host_.workers().run(make_task([this, pass] {
    std::optional<std::vector<std::string>> paths;
    auto service = host_.registry().find<RepositoryPaths>();
    if (service.ok() && service->minor() >= 1) paths = (*service)->paths();
    catalog_.look_again(paths);
  }));
}

Status CatalogPlugin::start() {
  auto repository = host_.registry().find<Repository>();
  if (!repository.ok()) return std::move(repository).status();
  auto configs = host_.registry().find<ModelConfigs>();
  if (!configs.ok()) return std::move(configs).status();
  if (auto notes = host_.registry().find<FaultNotes>(); notes.ok()) {
    fault_notes_ = std::move(notes).value();
    catalog_.note_faults(*fault_notes_);
  }
  ATOLL_RETURN_IF_ERROR(device_inputs_.open());
  catalog_.use(device_inputs_);
  catalog_.start(**repository, **configs);
  ATOLL_RETURN_IF_ERROR(services_changed_.open(host_.events(), {.depth = 4096}));
  if (Status status = server_state_changed_.open(host_.events()); !status.ok()) {
    services_changed_.reset();
    return status;
  }
  if (Status status = options_followed_.open(host_.events()); !status.ok()) {
    services_changed_.reset();
    server_state_changed_.reset();
    return status;
  }
  repository_ = std::move(repository).value();
  configs_ = std::move(configs).value();
  catalog_.watch();
  return {};
}

void CatalogPlugin::stop() {
  catalog_.stop_watching();
  options_followed_.reset();
  services_changed_.reset();
  server_state_changed_.reset();
  catalog_.drain();
  catalog_.lifecycle().stop();
  configs_.reset();
  repository_.reset();
  device_inputs_.close();
  fault_notes_.reset();
}

}  // namespace atl::models
