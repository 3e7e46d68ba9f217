#include "repositories/common/repository_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "atoll/core/guarded.h"
#include "repositories/common/directory_reader.h"
#include "repositories/common/names.h"

namespace atl::filesystem {

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Status check_directory(const std::string& path, const LinkRules& links) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return internal_error("failed to stat file ", path, ": ", std::system_category().message(errno));
  }
  if (!S_ISDIR(info.st_mode)) return invalid_argument("repository path is not a valid directory: ", path);
  auto containment = Containment::open(path, links);
  if (!containment.ok()) return std::move(containment).status();
  auto reader = DirectoryReader::open(containment->root(), path);
  return reader.ok() ? Status() : Status(Code::kUnavailable, std::string(reader.status().message()));
}

std::vector<std::string> ListedRepository::models_in(const std::string& directory) const {
  std::vector<std::string> models;
  for (const auto& [model, named] : directories) {
    if (named == directory) models.push_back(model);
  }
  if (models.empty() && !gives_name(directory)) models.push_back(directory);
  return models;
}

std::optional<std::string> ListedRepository::directory_of(std::string_view model) const {
  if (auto given = directories.find(model); given != directories.end()) return given->second;
  const bool is_called_otherwise =
      std::ranges::any_of(directories, [&](const auto& one) { return one.second == model; });
  if (is_called_otherwise) return std::nullopt;
  return std::string(model);
}

RepositoryList::RepositoryList(const std::vector<std::string>& paths, bool namespacing, LinkRules links)
    : namespacing_(namespacing), links_(std::move(links)) {
  for (const std::string& path : paths) {
    all_.push_back(std::make_shared<ListedRepository>());
    all_.back()->path = path;
  }
}

std::vector<std::shared_ptr<ListedRepository>> RepositoryList::all() const {
  std::lock_guard lock(mutex_);
  return all_;
}

bool RepositoryList::were_all_seen() const noexcept {
  std::lock_guard lock(mutex_);
  return std::ranges::all_of(all_,
                             [](const auto& one) { return one->was_seen.load(std::memory_order_relaxed); });
}

void RepositoryList::succeed(const RepositoryList& before, const std::vector<std::string>& wanted,
                             const std::vector<std::string>& wanted_before) {
  const auto names = [](const std::vector<std::string>& paths) {
    std::set<std::string> plain;
    for (const std::string& path : paths) plain.insert(without_trailing_slashes(path));
    return plain;
  };
  const std::set<std::string> next = names(wanted);
  const std::set<std::string> last = names(wanted_before);
  std::map<std::string, std::shared_ptr<ListedRepository>> known;
  std::vector<std::shared_ptr<ListedRepository>> added;
  for (const std::shared_ptr<ListedRepository>& one : before.all()) {
    const std::string path = without_trailing_slashes(one->path);
    known.emplace(path, one);
    if (!last.contains(path) && !next.contains(path)) added.push_back(one);
  }
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ListedRepository>> all;
  for (std::shared_ptr<ListedRepository>& one : all_) {
    const std::string path = without_trailing_slashes(one->path);
    const auto same = known.find(path);
    if (same != known.end()) {
      all.push_back(same->second);
    } else if (!last.contains(path)) {  // else it was removed by a call
      all.push_back(one);
    }
  }
  all.insert(all.end(), added.begin(), added.end());
  all_ = std::move(all);
}

std::vector<std::string> RepositoryList::paths() const noexcept {
  std::vector<std::string> paths;
  for (const std::shared_ptr<ListedRepository>& one : all())
    paths.push_back(without_trailing_slashes(one->path));
  return paths;
}

Status RepositoryList::check_new(const ListedRepository& repository,
                                 std::span<const NamedDirectory> names) const {
  for (const auto& other : all_) {
    if (without_trailing_slashes(other->path) == repository.path) {
      return make_status(Code::kAlreadyExists, "model repository '", repository.path,
                         "' has already been registered");
    }
  }
  std::set<std::string_view> own;
  for (const NamedDirectory& named : names) {
    ATOLL_RETURN_IF_ERROR(check_model_name(named.directory));
    ATOLL_RETURN_IF_ERROR(check_model_name(named.model));
    if (!own.insert(named.model).second) {
      return invalid_argument("failed to register '", repository.path,
                              "', there is a conflicting mapping for '", named.model, "'");
    }
    const bool is_taken =
        std::ranges::any_of(all_, [&](const auto& other) { return other->gives_name(named.model); });
    if (is_taken) {
      return make_status(Code::kAlreadyExists, "failed to register '", named.model,
                         "', there is a conflicting mapping for '", named.model, "'");
    }
  }
  return {};
}

Status RepositoryList::add(std::string_view path, std::span<const NamedDirectory> names) noexcept {
  return guarded("registering a repository", [&]() -> Status {
    auto added = std::make_shared<ListedRepository>();
    added->path = without_trailing_slashes(std::string(path));
    if (added->path.empty() || !check_directory(added->path, links_).ok()) {
      return invalid_argument("failed to register '", path, "', repository not found");
    }
    if (namespacing_ && added->path.find(kNamespaceEnd) != std::string::npos) {
      return invalid_argument("failed to register '", path,
                              "', expected a path without '::', because the option 'namespacing' is on");
    }
    std::lock_guard lock(mutex_);
    ATOLL_RETURN_IF_ERROR(check_new(*added, names));
    for (const NamedDirectory& named : names) added->directories.emplace(named.model, named.directory);
    added->was_seen.store(true, std::memory_order_relaxed);
    all_.push_back(std::move(added));
    return {};
  });
}

Status RepositoryList::remove(std::string_view path) noexcept {
  return guarded("unregistering a repository", [&]() -> Status {
    const std::string wanted = without_trailing_slashes(std::string(path));
    std::lock_guard lock(mutex_);
    const size_t gone =
        std::erase_if(all_, [&](const auto& one) { return without_trailing_slashes(one->path) == wanted; });
    if (gone != 0) return {};
    return invalid_argument("failed to unregister '", path, "', repository not found");
  });
}

}  // namespace atl::filesystem
