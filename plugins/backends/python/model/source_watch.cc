#include "backends/python/model/source_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace atl::python {
namespace {

namespace fs = std::filesystem;

/// A file that is created is not written yet, unless it is a link; editors also write another file and rename it.
constexpr uint32_t kMask = IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;

bool is_hidden(std::string_view name) { return name.starts_with('.') || name == "__pycache__"; }

bool is_version(std::string_view name) {
  return !name.empty() && name[0] != '0' &&
         std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

/// As the system does when it resolves a path.
constexpr int kLinksMax = 40;

bool is_link(const std::string& path) {
  struct stat found = {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode);
}

bool is_linked_folder(const std::string& path) {
  std::error_code ignored;
  return is_link(path) && fs::is_directory(path, ignored);
}

/// What is left of a path, the last part first.
void push_parts(const fs::path& path, std::vector<std::string>& parts) {
  const fs::path relative = path.relative_path();
  const std::vector<fs::path> all(relative.begin(), relative.end());
  for (auto part = all.rbegin(); part != all.rend(); ++part) {
    if (!part->empty() && *part != ".") parts.push_back(part->string());
  }
}

}  // namespace

Status SourceWatch::start() {
  ATOLL_RETURN_IF_ERROR(open());
  loop_.watch(events_.get(), [this] { read_events(); });
  return {};
}

void SourceWatch::stop() noexcept {
  if (!events_.valid()) return;
  loop_.unwatch(events_.get());
  loop_.cancel(quiet_);
  events_ = FileDescriptor();
  watched_.clear();
}

/// Errors: of the version's folder. What else cannot be watched is left out.
Status SourceWatch::open() {
  watched_.clear();
  events_ = FileDescriptor(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!events_.valid()) return make_status(Code::kResourceExhausted, "no inotify: ", std::strerror(errno));
  // First the ways there, so that a folder that is not there now is seen when it comes.
  follow(folders_.version);
  follow(folders_.model);
  Status added = add(folders_.version);
  const bool has_model = add(folders_.model).ok();
  if (added.ok()) add_below(folders_.version);
  if (has_model) add_below(folders_.model);
  return added;
}

/// A change that was not seen meanwhile was made before what is told next is loaded.
void SourceWatch::open_again() {
  loop_.unwatch(events_.get());
  const FileDescriptor last = std::move(events_);
  (void)open().ok();
  if (events_.valid()) loop_.watch(events_.get(), [this] { read_events(); });
}

Result<SourceWatch::Folder*> SourceWatch::watch(const std::string& folder) {
  if (watched_.size() >= kFoldersMax)
    return make_status(Code::kResourceExhausted, "more than ", kFoldersMax, " folders");
  const int number = ::inotify_add_watch(events_.get(), folder.c_str(), kMask);
  if (number < 0) {
    const int failed = errno;
    const Code code = failed == ENOENT || failed == ENOTDIR ? Code::kNotFound : Code::kResourceExhausted;
    return make_status(code, "'", folder, "': ", std::strerror(failed));
  }
  return &watched_[number];
}

/// Errors also: FAILED_PRECONDITION it is watched already, under another path.
Status SourceWatch::add(const std::string& folder) {
  Result<Folder*> watched = watch(folder);
  if (!watched.ok()) return std::move(watched).status();
  if ((*watched)->holds_sources) return make_status(Code::kFailedPrecondition, "'", folder, "' is watched");
  (*watched)->path = folder;
  (*watched)->holds_sources = true;
  return {};
}

/// What cannot be watched is left out: there is always the version's folder itself.
void SourceWatch::add_below(const std::string& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string(), path = entry->path().string();
    if (is_hidden(name) || (folder == folders_.model && is_version(name))) continue;
    std::error_code ignored;
    const bool is_folder = entry->is_directory(ignored);
    if (entry->is_symlink(ignored) && (is_folder || is_source(folder, name))) follow(path);
    if (is_folder && add(path).ok()) add_below(path);
  }
}

/// Notes the links on the way and the end of it, there or not.
void SourceWatch::follow(const std::string& path) {
  std::error_code failed;
  std::vector<std::string> left;
  push_parts(fs::absolute(path, failed), left);
  fs::path reached = "/";
  for (int links = 0; !left.empty();) {
    const std::string name = left.back();
    left.pop_back();
    if (name == "..") {
      reached = reached.parent_path();
      continue;
    }
    const fs::path next = reached / name;
    const fs::file_status status = fs::symlink_status(next, failed);
    const bool is_end = left.empty() || !fs::exists(status);
    if (is_end || fs::is_symlink(status)) note(reached.string(), name);
    if (!fs::exists(status)) return;
    if (!fs::is_symlink(status)) {
      reached = next;
      continue;
    }
    const fs::path target = fs::read_symlink(next, failed);
    if (failed || ++links > kLinksMax) return;
    if (target.is_absolute()) reached = "/";
    push_parts(target, left);
  }
}

void SourceWatch::note(const std::string& folder, const std::string& name) {
  Result<Folder*> watched = watch(folder);
  if (!watched.ok()) return;
  if ((*watched)->path.empty()) (*watched)->path = folder;
  (*watched)->names.insert(name);
}

void SourceWatch::read_events() {
  alignas(inotify_event) char bytes[16 << 10];
  News all;
  while (true) {
    const ssize_t size = ::read(events_.get(), bytes, sizeof bytes);
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(bytes + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      if ((event->mask & IN_Q_OVERFLOW) != 0) all = {true, true};
      const auto found = watched_.find(event->wd);
      if (found == watched_.end()) continue;
      if ((event->mask & IN_IGNORED) != 0) watched_.erase(found);
      if (event->len == 0) continue;
      const News news = look(found->second, event->name, event->mask);
      all.is_change |= news.is_change;
      all.is_elsewhere |= news.is_elsewhere;
    }
  }
  if (all.is_elsewhere) open_again();
  if (all.is_change) begin_quiet();
}

SourceWatch::News SourceWatch::look(const Folder& folder, const std::string& name, uint32_t mask) {
  News news;
  if (folder.holds_sources) news = look_at_source(folder.path, name, mask);
  if (!folder.names.contains(name)) return news;
  const bool is_new = (mask & (IN_CREATE | IN_MOVED_TO)) != 0;
  const bool is_place = (mask & IN_ISDIR) != 0 || is_link(cat(folder.path, "/", name));
  if ((is_new && is_place) || (mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) news.is_change = true;
  if (is_new && is_place) news.is_elsewhere = true;
  return news;
}

SourceWatch::News SourceWatch::look_at_source(const std::string& folder, const std::string& name,
                                              uint32_t mask) {
  if (is_hidden(name)) return {};
  const std::string path = cat(folder, "/", name);
  const bool is_new = (mask & (IN_CREATE | IN_MOVED_TO)) != 0;
  // Of the versions only the own one, which may be exchanged as a whole.
  const bool is_other_version = folder == folders_.model && is_version(name) && path != folders_.version;
  if (is_new && !is_other_version && is_linked_folder(path)) return {true, true};
  if ((mask & IN_ISDIR) == 0) {
    const bool is_new_link = is_new && is_link(path);
    if ((mask & IN_CREATE) != 0 && !is_new_link) return {};
    const bool counts = is_source(folder, name);
    return {counts, counts && is_new_link};
  }
  if (is_other_version) return {};
  if ((mask & (IN_MOVED_TO | IN_MOVED_FROM)) != 0) return {true, true};
  if (is_new && add(path).ok()) add_below(path);
  return {true, false};
}

bool SourceWatch::is_source(const std::string& folder, std::string_view name) const {
  if (name.ends_with(".py")) return true;
  if (folder == folders_.version && name == folders_.program) return true;
  return folder == folders_.model && name == "config.pbtxt";
}

void SourceWatch::begin_quiet() {
  loop_.cancel(quiet_);
  quiet_ = loop_.at(clock_.now_ns() + kQuietNs, [this] { changed_(); });
}

}  // namespace atl::python
