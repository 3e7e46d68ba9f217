#include "check_path.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "check_model.h"
#include "repositories/filesystem/filesystem_repository.h"
#include "repositories/filesystem/names.h"

namespace atl::config {
namespace {

namespace fs = std::filesystem;

/// Models, and where they are.
struct Subject {
  std::string repository;
  std::vector<std::string> models;  ///< empty: all
};

bool is_model(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory / "config.pbtxt", error)) return true;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && filesystem::parse_version(entry->path().filename().string()))
      return true;
  }
  return false;
}

Result<Subject> find_subject(const std::string& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error) return not_found(path, ": ", error.message());
  bool in_configs = real.extension() == ".pbtxt" && real.parent_path().filename() == "configs";
  if (!fs::is_directory(real, error)) {
    if (real.extension() != ".pbtxt") {
      return invalid_argument(path,
                              ": expected a model repository, a model's directory or its configuration");
    }
    real = in_configs ? real.parent_path().parent_path() : real.parent_path();
  } else if (!is_model(real)) {
    return Subject{real.string(), {}};
  }
  return Subject{real.parent_path().string(), {real.filename().string()}};
}

ModelReport unreadable(const std::string& name, const std::string& path, const Status& failure) {
  ModelReport report;
  report.name = name;
  report.path = path;
  report.problems.push_back({Severity::kError, path, 0, 0, "", failure.text()});
  return report;
}

}  // namespace

Result<std::vector<ModelReport>> check_path(const std::string& path, const PathOptions& options) {
  auto subject = find_subject(path);
  if (!subject.ok()) return std::move(subject).status();
  filesystem::FilesystemRepository repository(
      {.paths = {subject->repository}, .config_name = options.config_name});
  ATOLL_RETURN_IF_ERROR(repository.check());
  CheckOptions check{.strict = options.strict};
  if (subject->models.empty()) {
    auto entries = repository.list();
    if (!entries.ok()) return std::move(entries).status();
    for (const RepositoryEntry& entry : *entries) subject->models.push_back(entry.name);
    check.siblings.insert(subject->models.begin(), subject->models.end());
  }
  std::vector<ModelReport> reports;
  for (const std::string& name : subject->models) {
    auto model = repository.open(name);
    if (model.ok()) {
      reports.push_back(check_model(*model, check));
    } else {
      reports.push_back(unreadable(name, cat(subject->repository, "/", name), model.status()));
    }
  }
  return reports;
}

}  // namespace atl::config
