#include "repositories/common/filesystem_repository.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "atoll/core/guarded.h"
#include "atoll/core/utf8.h"
#include "repositories/common/directory_reader.h"
#include "repositories/common/model_scan.h"
#include "repositories/common/names.h"
#include "repositories/common/stamps.h"

namespace atl::filesystem {

namespace {

int64_t system_wall_ns() {
  struct timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

/// A listing names no missing file: whatever keeps a repository from being read makes it unavailable.
Status as_unavailable(Status status) { return Status(Code::kUnavailable, std::string(status.message())); }

/// \param given  names that registered mappings give, which are no directory's by itself
Status list_root(const Containment& containment, const ListedRepository& repository, const std::string& path,
                 const std::set<std::string_view>& given, std::vector<RepositoryEntry>* entries,
                 std::vector<std::string>* unnamed) {
  auto reader = DirectoryReader::open(containment.root(), path);
  if (!reader.ok()) return as_unavailable(std::move(reader).status());
  DirectoryReader::Entry entry;
  while (true) {
    auto more = reader->next(&entry);
    if (!more.ok()) return as_unavailable(std::move(more).status());
    if (!*more) return {};
    std::string name(entry.name);
    if (name.starts_with('.')) continue;
    if (!is_utf8(name)) {
      if (entry.type == DT_DIR) unnamed->push_back(cat(path, "/", replace_invalid_utf8(name)));
      continue;
    }
    if (entry.type == DT_LNK) {
      // A link that cannot be followed is listed, so that open() says what is wrong with it.
      struct stat info;
      bool known = ::fstatat(reader->fd(), name.c_str(), &info, 0) == 0;
      if (known && !S_ISDIR(info.st_mode)) continue;
    } else if (entry.type != DT_DIR) {
      continue;
    }
    const std::string model_path = cat(path == "/" ? "" : path, "/", name);
    for (std::string& model : repository.models_in(name)) {
      if (!repository.gives_name(model) && given.contains(model)) continue;
      entries->push_back({std::move(model), path, model_path});
    }
  }
}

/// Keeps at most kIgnoredMax warnings, of which the last then counts those left out.
void limit_warnings(std::string_view model, size_t count, std::vector<std::string>* warnings) {
  std::sort(warnings->begin(), warnings->end());
  if (count <= kIgnoredMax) return;
  warnings->resize(kIgnoredMax - 1);
  warnings->push_back(cat(count - warnings->size(), " more directories of model '", model, "' are ignored"));
}

}  // namespace

FilesystemRepository::FilesystemRepository(RepositorySettings settings)
    : settings_(std::move(settings)),
      links_{settings_.follow_links, settings_.linked_paths, settings_.linked_paths_option},
      list_(settings_.paths, settings_.namespacing, links_) {}

Status check_config_name(const std::string& name) {
  if (name.find('/') == std::string::npos && !name.starts_with('.')) return {};
  return invalid_argument("option 'config_name' is '", name,
                          "', expected the name of a file in a model's folder 'configs', without '.pbtxt'");
}

Status FilesystemRepository::check(std::vector<Status>* missing) {
  ATOLL_RETURN_IF_ERROR(check_config_name(settings_.config_name));
  if (settings_.paths.empty()) return invalid_argument("option 'paths' is empty, expected at least one path");
  const auto listed = list_.all();
  for (size_t i = 0; i < settings_.paths.size(); ++i) {
    const std::string& path = settings_.paths[i];
    if (path.empty()) return invalid_argument("option 'paths' holds an empty path");
    if (settings_.namespacing && path.find(kNamespaceEnd) != std::string::npos) {
      return invalid_argument("option 'paths' holds '", path,
                              "', expected a path without '::', because the option 'namespacing' is on");
    }
    if (path.find("://") != std::string::npos) {
      return invalid_argument("option 'paths' holds '", path, "', expected a directory of this machine");
    }
    Status status = check_directory(path, links_);
    if (status.ok()) listed[i]->was_seen.store(true, std::memory_order_relaxed);
    if (status.ok()) continue;
    if (!settings_.allow_missing_paths) return status;
    missing->push_back(std::move(status));
  }
  return {};
}

Result<std::vector<FilesystemRepository::Root>> FilesystemRepository::open_roots() const {
  std::vector<Root> roots;
  for (const std::shared_ptr<ListedRepository>& listed : list_.all()) {
    const std::string& path = listed->path;
    // One that was there and is gone must not look as if its models had been deleted.
    if (settings_.allow_missing_paths && !listed->was_seen.load(std::memory_order_relaxed)) {
      if (!check_directory(path, links_).ok()) continue;
      listed->was_seen.store(true, std::memory_order_relaxed);
    }
    auto containment = Containment::open(path, links_);
    if (!containment.ok()) return as_unavailable(std::move(containment).status());
    const struct stat& info = containment->info();
    bool again = std::any_of(roots.begin(), roots.end(), [&](const Root& other) {
      return other.containment.info().st_dev == info.st_dev && other.containment.info().st_ino == info.st_ino;
    });
    if (!again) roots.push_back({without_trailing_slashes(path), std::move(containment).value(), listed});
  }
  return roots;
}

Result<std::vector<RepositoryEntry>> FilesystemRepository::list() noexcept {
  using Entries = std::vector<RepositoryEntry>;
  return guarded("listing the repositories", [&]() -> Result<Entries> {
    auto roots = open_roots();
    if (!roots.ok()) return std::move(roots).status();
    std::set<std::string_view> given;
    for (const Root& root : *roots) {
      if (settings_.namespacing) break;  // of each repository for itself
      for (const auto& [model, directory] : root.listed->directories) given.insert(model);
    }
    Entries entries;
    std::vector<std::string> unnamed;
    for (const Root& root : *roots) {
      ATOLL_RETURN_IF_ERROR(list_root(root.containment, *root.listed, root.path, given, &entries, &unnamed));
    }
    report_unnamed(unnamed);
    std::sort(entries.begin(), entries.end(), [](const RepositoryEntry& a, const RepositoryEntry& b) {
      return std::tie(a.name, a.repository) < std::tie(b.name, b.repository);
    });
    if (settings_.namespacing) {
      for (RepositoryEntry& entry : entries) entry.name = cat(entry.repository, kNamespaceEnd, entry.name);
    }
    return entries;
  });
}

void FilesystemRepository::report_unnamed(const std::vector<std::string>& unnamed) {
  constexpr size_t kMostTold = 1000;
  if (settings_.log == nullptr) return;
  std::scoped_lock lock(mutex_);
  for (const std::string& path : unnamed) {
    if (told_.size() >= kMostTold || !told_.insert(path).second) continue;
    settings_.log->warning("directory '", path, "' is no model: its name is not valid UTF-8");
  }
}

Result<RepositoryModel> FilesystemRepository::open(std::string_view name) noexcept {
  return guarded("opening a model", [&] { return open_model(name); });
}

Result<std::vector<RepositoryStamp>> FilesystemRepository::stamps(std::string_view name) noexcept {
  return guarded("looking at a model", [&] { return read_stamps(name); });
}

Result<PrivateModel> FilesystemRepository::open_files(std::string_view name,
                                                      const std::vector<RepositoryFile>& files) noexcept {
  return guarded("writing a model's files", [&] { return open_private(name, files); });
}

Result<RepositoryModel> FilesystemRepository::open_at(std::string_view name,
                                                      const std::string& path) noexcept {
  return guarded("opening a model", [&] { return read_elsewhere(name, path); });
}

bool FilesystemRepository::is_complete() const noexcept {
  if (!settings_.missing_paths_fail_health) return true;
  return list_.were_all_seen();
}

/// Whether an identifier's repository is another one. Of its own, the name is left.
bool FilesystemRepository::is_elsewhere(const Root& root, std::string_view* name) const {
  const size_t end = name->find(kNamespaceEnd);
  if (!settings_.namespacing || end == std::string_view::npos) return false;
  if (name->substr(0, end) != root.path) return true;
  name->remove_prefix(end + kNamespaceEnd.size());
  return false;
}

Result<FilesystemRepository::Home> FilesystemRepository::find_model(std::string_view identifier) const {
  const size_t end = settings_.namespacing ? identifier.find(kNamespaceEnd) : std::string_view::npos;
  ATOLL_RETURN_IF_ERROR(check_model_name(
      end == std::string_view::npos ? identifier : identifier.substr(end + kNamespaceEnd.size())));
  auto roots = open_roots();
  if (!roots.ok()) return std::move(roots).status();
  // A name that a mapping gives is no other model's.
  const bool is_given = std::ranges::any_of(*roots, [&](const Root& root) {
    std::string_view name = identifier;
    return !is_elsewhere(root, &name) && root.listed->gives_name(name);
  });
  std::optional<Home> home;
  std::string dangling;
  for (Root& root : *roots) {
    std::string_view name = identifier;
    if (is_elsewhere(root, &name) || (is_given && !root.listed->gives_name(name))) continue;
    const std::optional<std::string> directory = root.listed->directory_of(name);
    if (!directory) continue;
    std::string path = cat(root.path == "/" ? "" : root.path, "/", *directory);
    auto found = root.containment.find(root.containment.root(), *directory, path);
    if (!found.ok()) {
      if (found.status().code() != Code::kNotFound) return std::move(found).status();
      struct stat info;
      const bool is_there =
          ::fstatat(root.containment.root(), directory->c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
      if (is_there && S_ISLNK(info.st_mode)) dangling = path;
      continue;
    }
    if (!S_ISDIR(found->mode)) continue;
    if (home) {
      return make_status(Code::kFailedPrecondition, "model appears in two or more repositories")
          .note(cat("model '", name, "' in '", home->root.path, "' and '", root.path, "'"));
    }
    RepositoryEntry entry = {std::string(name), root.path, std::move(path)};
    home.emplace(Home{std::move(root), std::move(entry), std::move(found).value()});
  }
  if (!home && !dangling.empty()) return not_found(dangling, ": is a link to something that is not there");
  if (!home) return not_found("model '", identifier, "' is not found in any model repository");
  return std::move(*home);
}

Result<RepositoryModel> FilesystemRepository::open_model(std::string_view name) const {
  auto home = find_model(name);
  if (!home.ok()) return std::move(home).status();
  return read_model(*home);
}

Result<RepositoryModel> FilesystemRepository::read_elsewhere(std::string_view name,
                                                             const std::string& path) const {
  ATOLL_RETURN_IF_ERROR(check_model_name(name));
  if (!path.starts_with('/')) return invalid_argument(path, ": expected an absolute path");
  auto containment = Containment::open(path, links_);
  if (!containment.ok()) return std::move(containment).status();
  auto directory = containment->find(containment->root(), ".", path);
  if (!directory.ok()) return std::move(directory).status();
  return read_model({{path, std::move(containment).value()},
                     {std::string(name), {}, without_trailing_slashes(path)},
                     std::move(directory).value()});
}

Result<RepositoryModel> FilesystemRepository::read_model(const Home& home) const {
  RepositoryModel model;
  model.entry = home.entry;
  const Containment& containment = home.root.containment;
  ATOLL_RETURN_IF_ERROR(
      scan_model_directory(containment, home.directory, model.entry.path, settings_.files_max));
  ATOLL_RETURN_IF_ERROR(read_config(home, &model));
  ATOLL_RETURN_IF_ERROR(read_versions(containment, home.directory, &model));
  return model;
}

Result<std::vector<RepositoryStamp>> FilesystemRepository::read_stamps(std::string_view name) const {
  auto home = find_model(name);
  if (!home.ok()) return std::move(home).status();
  StampCollector collector(settings_.clock != nullptr ? settings_.clock->wall_ns() : system_wall_ns());
  ATOLL_RETURN_IF_ERROR(scan_model_directory(
      home->root.containment, home->directory, home->entry.path, settings_.files_max,
      [&](std::string_view path, const struct stat& info) { collector.add(path, info); }));
  for (const std::string& config : config_names()) {
    auto file = home->root.containment.find(home->directory.path_fd.get(), config, config);
    if (file.ok()) return collector.finish(config.substr(0, config.find('/')));
  }
  return collector.finish({});
}

Result<PrivateModel> FilesystemRepository::open_private(std::string_view name,
                                                        const std::vector<RepositoryFile>& files) {
  ATOLL_RETURN_IF_ERROR(check_model_name(name));
  std::shared_ptr<PrivateFolder> folder;
  {
    std::scoped_lock lock(mutex_);
    if (private_folder_ == nullptr || !private_folder_->exists()) {
      auto made = PrivateFolder::create(settings_.files_directory);
      if (!made.ok()) return std::move(made).status();
      private_folder_ = std::move(made).value();
    }
    folder = private_folder_;
  }
  auto directory = PrivateDirectory::create(std::move(folder), files);
  if (!directory.ok()) return std::move(directory).status();
  const std::string& path = (*directory)->path();
  PrivateModel made;
  made.model.entry = {std::string(name), {}, path};
  auto containment = Containment::open(path);
  if (!containment.ok()) return std::move(containment).status();
  auto found = containment->find(containment->root(), ".", path);
  if (!found.ok()) return std::move(found).status();
  ATOLL_RETURN_IF_ERROR(read_versions(*containment, *found, &made.model));
  made.directory = std::move(directory).value();
  return made;
}

/// In the order in which they are looked for, below the model directory.
std::vector<std::string> FilesystemRepository::config_names() const {
  std::vector<std::string> names;
  if (!settings_.config_name.empty()) names.push_back(cat("configs/", settings_.config_name, ".pbtxt"));
  names.push_back("config.pbtxt");
  return names;
}

Status FilesystemRepository::read_config(const Home& home, RepositoryModel* model) const {
  for (const std::string& name : config_names()) {
    std::string path = cat(model->entry.path, "/", name);
    auto file = home.root.containment.find(home.directory.path_fd.get(), name, path);
    if (!file.ok()) {
      if (file.status().code() == Code::kNotFound) continue;
      return std::move(file).status();
    }
    auto text = read_regular_file(file->path_fd.get(), kConfigBytesMax, path);
    if (!text.ok()) return std::move(text).status();
    model->config_path = std::move(path);
    model->config_text = std::move(text).value();
    return {};
  }
  return {};
}

Status FilesystemRepository::read_versions(const Containment& containment, const Found& directory,
                                           RepositoryModel* model) const {
  auto reader = DirectoryReader::open(directory.path_fd.get(), model->entry.path);
  if (!reader.ok()) return std::move(reader).status();
  size_t ignored = 0;
  std::vector<std::string> others;  // that do not look like versions; of interest where there is none
  DirectoryReader::Entry entry;
  while (true) {
    auto more = reader->next(&entry);
    if (!more.ok()) return std::move(more).status();
    if (!*more) break;
    const bool is_hidden = entry.name.starts_with('.');
    if (entry.type == DT_REG || is_hidden || is_layout_directory(entry.name)) continue;
    std::string path = cat(model->entry.path, "/", entry.name);
    auto found = containment.find(reader->fd(), std::string(entry.name), path);
    if (!found.ok()) {
      if (found.status().code() == Code::kNotFound) continue;  // vanished since it was listed
      return std::move(found).status();
    }
    if (!S_ISDIR(found->mode)) continue;
    if (auto version = parse_version(entry.name)) {
      model->versions.push_back({*version, std::move(path)});
    } else {
      std::string text = cat("version directory '", entry.name, "' of model '", model->entry.name,
                             "' is ignored: ", version_refusal(entry.name));
      const bool is_like_one = entry.name.find_first_of("0123456789") <= 1;  // "1a", "-1", "v1"
      std::vector<std::string>& texts = is_like_one ? model->ignored : others;
      ignored += is_like_one ? 1 : 0;
      if (texts.size() < kIgnoredMax) texts.push_back(std::move(text));
    }
  }
  if (model->versions.empty()) {
    ignored += others.size();
    model->ignored.insert(model->ignored.end(), others.begin(), others.end());
  }
  limit_warnings(model->entry.name, ignored, &model->ignored);
  std::sort(model->versions.begin(), model->versions.end(),
            [](const RepositoryVersion& a, const RepositoryVersion& b) { return a.version < b.version; });
  return {};
}

}  // namespace atl::filesystem
