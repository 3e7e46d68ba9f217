#include "models/catalog/states/live_versions.h"

#include <utility>

namespace atl::models {

uint64_t LiveVersions::add(const std::string& model, const ServedModel& version) {
  live_[++last_object_] = {model, &version};
  return last_object_;
}

void LiveVersions::await(uint64_t object, std::shared_ptr<LeavingVersions>& departure) {
  if (departure == nullptr) departure = std::make_shared<LeavingVersions>();
  ++departure->left;
  departures_[object] = departure;
}

bool LiveVersions::ended(uint64_t object, std::vector<LoadDone>* callbacks) {
  if (auto departing = departures_.extract(object); !departing.empty()) {
    LeavingVersions& departure = *departing.mapped();
    if (--departure.left == 0) *callbacks = std::move(departure.callbacks);
  }
  return succeeded_.erase(object) == 0;
}

std::map<std::string, uint64_t> LiveVersions::holders() const {
  std::map<std::string, uint64_t> requests;
  for (const auto& [object, live] : live_) requests[live.model] += live.version->holders();
  return requests;
}

}  // namespace atl::models
