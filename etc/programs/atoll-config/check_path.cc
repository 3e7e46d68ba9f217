#include "check_path.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "check_ensembles.h"
#include "check_model.h"
#include "repositories/common/filesystem_repository.h"
#include "repositories/common/names.h"

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

/// Models of the repository that ensembles among the reports are made of, and those in turn, where they are not
/// among the reports themselves.
std::vector<ModelReport> steps_beside(const std::vector<ModelReport>& reports,
                                      filesystem::FilesystemRepository& repository,
                                      const CheckOptions& options) {
  std::set<std::string> known;
  std::vector<std::string> wanted;
  auto add_steps = [&](const ModelReport& report) {
    if (!report.read) return;
    for (const auto& step : report.read->ensemble_scheduling().step()) wanted.push_back(step.model_name());
  };
  for (const ModelReport& report : reports) known.insert(report.name);
  for (const ModelReport& report : reports) add_steps(report);
  std::vector<ModelReport> steps;
  for (size_t next = 0; next < wanted.size(); ++next) {
    if (!known.insert(wanted[next]).second) continue;
    auto model = repository.open(wanted[next]);
    if (!model.ok())
      continue;  // that it is not there is told of the ensemble, or it is in another repository
    steps.push_back(check_model(*model, options));
    add_steps(steps.back());
  }
  return steps;
}

}  // namespace

Result<std::vector<ModelReport>> check_path(const std::string& path, const PathOptions& options) {
  auto subject = find_subject(path);
  if (!subject.ok()) return std::move(subject).status();
  filesystem::FilesystemRepository repository({.paths = {subject->repository},
                                               .linked_paths = options.linked_paths,
                                               .linked_paths_option = "--linked-path",
                                               .config_name = options.config_name});
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
  check_ensembles(reports, steps_beside(reports, repository, check));
  return reports;
}

}  // namespace atl::config
