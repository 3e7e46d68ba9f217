#include "control/common/startup_load.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace atl::control {
namespace {

/// Lives as long as the start-up load: on its way through the workers, then inside the catalog's callback.
struct StartupLoad {
  StartupServices services;
  std::optional<std::vector<std::string>> models;
  Pass pass;  // last: everything else is gone when the gate may become empty
};

void finish(const StartupServices& services, const std::vector<ModelLoadResult>& results) {
  log_startup(services.log, results);
  services.catalog.set_startup_complete();
}

void run(const std::shared_ptr<StartupLoad>& load) {
  const StartupServices& services = load->services;
  if (!load->models) {
    Result<std::vector<RepositoryEntry>> entries = services.repository.list();
    if (!entries.ok()) {
      services.log.error("start-up: no model is loaded and the server does not become ready, because the ",
                         "repository cannot be listed: ", entries.status().text());
      return;
    }
    load->models = distinct_names(entries.value());
  }
  if (load->models->empty()) return finish(services, {});
  services.catalog.load(std::move(*load->models),
                        [load](std::vector<ModelLoadResult> results) { finish(load->services, results); });
}

}  // namespace

Status begin_startup_load(const StartupServices& services,
                          std::optional<std::vector<std::string>> models) noexcept {
  Pass pass(services.gate);
  if (!pass) return unavailable("start-up load: this instance is draining already");
  auto load = std::make_shared<StartupLoad>(StartupLoad{services, std::move(models), std::move(pass)});
  services.workers.run(make_task([load] { run(load); }));
  return {};
}

void log_startup(Log& log, const std::vector<ModelLoadResult>& results) {
  const auto models = [](size_t count) { return cat(count, count == 1 ? " model" : " models"); };
  std::string failed;
  size_t failures = 0;
  for (const ModelLoadResult& result : results) {
    if (result.status.ok()) continue;
    failed += cat(failures++ == 0 ? ": " : ", ", result.model);
  }
  if (failures == 0) {
    log.info("start-up: ", models(results.size()), " loaded");
  } else {
    log.error("start-up: ", models(results.size() - failures), " loaded, ", failures, " failed", failed);
  }
}

std::vector<std::string> distinct_names(const std::vector<RepositoryEntry>& entries) {
  std::vector<std::string> names;
  for (const RepositoryEntry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace atl::control
