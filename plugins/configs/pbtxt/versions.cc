#include "configs/pbtxt/versions.h"

#include <algorithm>
#include <map>

namespace atl::pbtxt {

namespace {
/// Most warnings about absent versions.
constexpr size_t kWarningsMax = 64;
}  // namespace

Result<std::vector<RepositoryVersion>> select_versions(const inference::ModelConfig& config,
                                                       const std::vector<RepositoryVersion>& present,
                                                       std::vector<std::string>* warnings) {
  std::map<int64_t, const RepositoryVersion*> by_number;
  for (const RepositoryVersion& version : present) by_number.emplace(version.version, &version);

  std::map<int64_t, const RepositoryVersion*> selected;
  const auto& policy = config.version_policy();
  if (policy.has_all()) {
    selected = by_number;
  } else if (policy.has_specific()) {
    for (int64_t number : policy.specific().versions()) {
      auto found = by_number.find(number);
      if (found != by_number.end()) {
        selected.insert(*found);
      } else if (warnings != nullptr && warnings->size() < kWarningsMax) {
        warnings->push_back(cat("version ", number, " is specified for model '", config.name(),
                                "', but the version directory is not present"));
      }
    }
  } else {
    size_t count = policy.has_latest() ? policy.latest().num_versions() : 1;
    size_t skipped = by_number.size() - std::min(count, by_number.size());
    selected.insert(std::next(by_number.begin(), static_cast<std::ptrdiff_t>(skipped)), by_number.end());
  }
  if (selected.empty()) {
    return invalid_argument("at least one version must be available under the version policy of model '",
                            config.name(), "'");
  }
  std::vector<RepositoryVersion> versions;
  for (const auto& [number, version] : selected) versions.push_back(*version);
  return versions;
}

}  // namespace atl::pbtxt
