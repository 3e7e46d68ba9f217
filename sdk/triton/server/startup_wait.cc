#include "server/startup_wait.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace atl::triton {
namespace {

constexpr std::chrono::milliseconds kPause{1};
/// How often it is asked, while models load, whether the repository can be read at all.
constexpr int kPausesBetweenListings = 1000;

bool is(ModelState state, const ModelIndexEntry& entry) { return entry.state == model_state_name(state); }

Status failure_in(const std::vector<ModelIndexEntry>& index) {
  std::string failed;
  for (const ModelIndexEntry& entry : index) {
    if (is(ModelState::kUnavailable, entry))
      failed += cat("\n", entry.name, " ", entry.version, ": ", entry.reason);
  }
  return failed.empty() ? Status() : internal_error("failed to load all models", failed);
}

}  // namespace

Status wait_for_startup(const Startup& startup, ModelCatalog& catalog, bool all) {
  for (int pauses = 0; !startup.complete(); ++pauses) {
    if (pauses % kPausesBetweenListings == 0) {
      if (auto index = catalog.index(false); !index.ok()) return internal_error(index.status().message());
    }
    std::this_thread::sleep_for(kPause);
  }
  // A failed model is tried again when its catalog hears that a backend has come, and the catalog may hear so late of a backend that
  // was there before the load. While such a trial runs the index says LOADING, and whether the model serves is not decided yet.
  while (all) {
    auto index = catalog.index(false);
    if (!index.ok()) return std::move(index).status();
    const bool loads = std::any_of(index->begin(), index->end(), [](const ModelIndexEntry& entry) {
      return is(ModelState::kLoading, entry);
    });
    if (!loads) return failure_in(*index);
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

}  // namespace atl::triton
