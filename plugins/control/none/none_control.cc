#include "none_control.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace atl::control {
namespace {

constexpr std::string_view kNotAllowed = "explicit model load / unload is not allowed if polling is enabled";

/// Lives as long as the start-up load: on its way through the workers, then inside the catalog's callback.
struct StartupLoad {
  StartupServices services;
  Pass pass;  // last: everything else is gone when the gate may become empty
};

std::vector<std::string> distinct_names(const std::vector<RepositoryEntry>& entries) {
  std::vector<std::string> names;
  for (const RepositoryEntry& entry : entries) names.push_back(entry.name);
  // A name in two repositories is the catalog's to refuse; asking for it once is enough.
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void finish(const StartupServices& services, const std::vector<ModelLoadResult>& results) {
  std::string failed;
  size_t failures = 0;
  for (const ModelLoadResult& result : results) {
    if (result.status.ok()) continue;
    failed += cat(failures++ == 0 ? ": " : ", ", result.model);
  }
  if (failures == 0) {
    services.log.info("start-up: ", results.size(), " models loaded");
  } else {
    services.log.error("start-up: ", results.size() - failures, " models loaded, ", failures, " failed",
                       failed);
  }
  services.catalog.set_startup_complete();
}

void run(std::shared_ptr<StartupLoad> load) {
  const StartupServices& services = load->services;
  Result<std::vector<RepositoryEntry>> entries = services.repository.list();
  if (!entries.ok()) {
    services.log.error("start-up: no model is loaded and the server does not become ready, because the ",
                       "repository can not be listed: ", entries.status().text());
    return;
  }
  std::vector<std::string> names = distinct_names(entries.value());
  if (names.empty()) return finish(services, {});
  services.catalog.load(std::move(names),
                        [load](std::vector<ModelLoadResult> results) { finish(load->services, results); });
}

}  // namespace

void NoneControl::load(std::string, std::vector<ModelControlParameter>, Done done) noexcept {
  done(unavailable(kNotAllowed));
}

void NoneControl::unload(std::string, std::vector<ModelControlParameter>, Done done) noexcept {
  done(unavailable(kNotAllowed));
}

Status begin_startup_load(const StartupServices& services) noexcept {
  Pass pass(services.gate);
  if (!pass) return unavailable("start-up load: this instance is draining already");
  auto load = std::make_shared<StartupLoad>(StartupLoad{services, std::move(pass)});
  services.workers.run(make_task([load = std::move(load)]() mutable { run(std::move(load)); }));
  return {};
}

}  // namespace atl::control
