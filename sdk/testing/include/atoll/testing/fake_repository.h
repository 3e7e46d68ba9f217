/// A model repository in memory.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/repository.h"

namespace atl::test {

/// Directories are names only: nothing is on the disk. [any]
class FakeRepository final : public Repository {
 public:
  virtual ~FakeRepository() = default;

  /// Adds or replaces a model.
  void put(const std::string& name, const std::vector<int64_t>& versions = {1},
           std::string config_text = {}) {
    std::lock_guard lock(mutex_);
    RepositoryModel& model = models_[name];
    model = {};
    model.entry = {name, "/fake", "/fake/" + name};
    for (int64_t version : versions)
      model.versions.push_back({version, model.entry.path + "/" + std::to_string(version)});
    if (!config_text.empty()) model.config_path = model.entry.path + "/config.pbtxt";
    model.config_text = std::move(config_text);
  }
  void remove(const std::string& name) {
    std::lock_guard lock(mutex_);
    models_.erase(name);
  }
  /// list() and open() fail with this until it is cleared with kOk.
  void fail(Code code, std::string message = "the fake repository was told to fail") {
    std::lock_guard lock(mutex_);
    failure_ = Status(code, std::move(message));
  }

  Result<std::vector<RepositoryEntry>> list() noexcept override {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return failure_.clone();
    std::vector<RepositoryEntry> entries;
    for (const auto& [name, model] : models_) entries.push_back(model.entry);
    return entries;
  }
  Result<RepositoryModel> open(std::string_view name) noexcept override {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return failure_.clone();
    auto found = models_.find(name);
    if (found == models_.end()) return not_found("no model '", name, "' in the fake repository");
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, RepositoryModel, std::less<>> models_;
  Status failure_;
};

}  // namespace atl::test
