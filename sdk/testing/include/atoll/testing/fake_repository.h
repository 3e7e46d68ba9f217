/// A model repository in memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/models/repository.h"

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
  void set_complete(bool complete) noexcept { complete_.store(complete); }
  bool is_complete() const noexcept override { return complete_.load(); }
  /// Where a model's directory really is, for what looks into it.
  void set_path(const std::string& name, std::string path) {
    std::lock_guard lock(mutex_);
    models_.at(name).entry.path = std::move(path);
  }
  void remove(const std::string& name) {
    std::lock_guard lock(mutex_);
    models_.erase(name);
    stamps_.erase(name);
  }
  /// What stamps() tells of a model from now on; before that it tells nothing.
  void set_stamps(const std::string& name, std::vector<RepositoryStamp> stamps) {
    std::lock_guard lock(mutex_);
    stamps_[name] = std::move(stamps);
  }
  /// One entry of a model changes: a number is a version, "config.pbtxt" the configuration.
  void touch(const std::string& name, const std::string& entry) {
    std::lock_guard lock(mutex_);
    std::vector<RepositoryStamp>& stamps = stamps_[name];
    auto found = std::find_if(stamps.begin(), stamps.end(), [&](auto& stamp) { return stamp.name == entry; });
    if (found == stamps.end()) found = stamps.insert(found, make_stamp(entry));
    found->value = ++last_value_;
  }
  /// A name that is in two repositories is listed twice and cannot be opened.
  void set_twice(const std::string& name, bool twice) {
    std::lock_guard lock(mutex_);
    twice ? static_cast<void>(twice_.insert(name)) : static_cast<void>(twice_.erase(name));
  }
  /// list() and open() fail with this until it is cleared with kOk.
  void fail(Code code, std::string message = "the fake repository was told to fail") {
    std::lock_guard lock(mutex_);
    failure_ = Status(code, std::move(message));
  }

  /// How often list() was called.
  uint64_t lists() const {
    std::lock_guard lock(mutex_);
    return lists_;
  }

  Result<std::vector<RepositoryEntry>> list() noexcept override {
    std::lock_guard lock(mutex_);
    ++lists_;
    if (!failure_.ok()) return failure_.clone();
    std::vector<RepositoryEntry> entries;
    for (const auto& [name, model] : models_) {
      entries.push_back(model.entry);
      if (twice_.contains(name)) entries.push_back(model.entry);
    }
    return entries;
  }
  Result<RepositoryModel> open(std::string_view name) noexcept override {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return failure_.clone();
    auto found = models_.find(name);
    if (found == models_.end()) return not_found("no model '", name, "' in the fake repository");
    if (twice_.contains(name)) {
      return Status(Code::kFailedPrecondition, "model appears in two or more repositories");
    }
    return found->second;
  }
  Result<std::vector<RepositoryStamp>> stamps(std::string_view name) noexcept override {
    std::lock_guard lock(mutex_);
    ++looks_[std::string(name)];
    if (!failure_.ok()) return failure_.clone();
    auto found = stamps_.find(name);
    if (found == stamps_.end()) return Repository::stamps(name);
    return found->second;
  }
  /// Versions are the numbers that paths begin with.
  Result<PrivateModel> open_files(std::string_view name,
                                  const std::vector<RepositoryFile>& files) noexcept override {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return failure_.clone();
    PrivateModel made;
    std::string path = "/private/" + std::to_string(++last_value_);
    made.model.entry = {std::string(name), "", path};
    for (const RepositoryFile& file : files) {
      RepositoryStamp stamp = make_stamp(file.path.substr(0, file.path.find('/')));
      if (stamp.version > 0) made.model.versions.push_back({stamp.version, path + "/" + stamp.name});
    }
    made.directory = std::shared_ptr<const void>(new char, [this](const char* directory) {
      delete directory;
      --private_directories;
    });
    ++private_directories;
    return made;
  }

  /// Where one of the models is.
  Result<RepositoryModel> open_at(std::string_view name, const std::string& path) noexcept override {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return failure_.clone();
    for (const auto& [other, model] : models_) {
      if (model.entry.path != path) continue;
      RepositoryModel found = model;
      found.entry.name = name;
      found.entry.repository.clear();
      return found;
    }
    return not_found("no directory '", path, "' in the fake repository");
  }

  Result<std::shared_ptr<const void>> hold(const RepositoryModel& model) noexcept override {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return failure_.clone();
    ++held_[model.entry.name];
    return std::shared_ptr<const void>(new std::string(model.entry.name), [this](const std::string* name) {
      std::lock_guard inner(mutex_);
      --held_[*name];
      delete name;
    });
  }
  /// What hold() gave of a model, and is not let go of yet.
  int64_t held(const std::string& name) {
    std::lock_guard lock(mutex_);
    return held_[name];
  }
  std::string remark(std::string_view /*name*/) const noexcept override {
    std::lock_guard lock(mutex_);
    return remark_;
  }
  /// What remark() is to say of every model.
  void set_remark(std::string text) {
    std::lock_guard lock(mutex_);
    remark_ = std::move(text);
  }

  /// Calls of stamps() for a model.
  uint64_t looks(const std::string& name) {
    std::lock_guard lock(mutex_);
    return looks_[name];
  }
  /// Made by open_files() and not gone yet.
  std::atomic<int64_t> private_directories{0};

 private:
  static RepositoryStamp make_stamp(const std::string& entry) {
    RepositoryStamp stamp;
    stamp.name = entry;
    std::from_chars(entry.data(), entry.data() + entry.size(), stamp.version);
    if (stamp.version > 0) stamp.part = RepositoryStamp::Part::kVersion;
    if (entry == "config.pbtxt") stamp.part = RepositoryStamp::Part::kConfiguration;
    return stamp;
  }

  std::atomic<bool> complete_{true};
  mutable std::mutex mutex_;
  uint64_t lists_ = 0;
  uint64_t last_value_ = 0;
  std::map<std::string, std::vector<RepositoryStamp>, std::less<>> stamps_;
  std::map<std::string, uint64_t> looks_;
  std::map<std::string, int64_t> held_;
  std::string remark_;
  std::set<std::string, std::less<>> twice_;
  std::map<std::string, RepositoryModel, std::less<>> models_;
  Status failure_;
};

}  // namespace atl::test
