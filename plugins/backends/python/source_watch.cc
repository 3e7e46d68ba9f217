#include "backends/python/source_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

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

bool is_link(const std::string& path) {
  struct stat found = {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode);
}

}  // namespace

Status SourceWatch::start() {
  events_ = FileDescriptor(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!events_.valid()) return make_status(Code::kResourceExhausted, "no inotify: ", std::strerror(errno));
  ATOLL_RETURN_IF_ERROR(add(folders_.version));
  add_below(folders_.version);
  if (add(folders_.model).ok()) add_below(folders_.model);
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

Status SourceWatch::add(const std::string& folder) {
  if (watched_.size() >= kFoldersMax)
    return make_status(Code::kResourceExhausted, "more than ", kFoldersMax, " folders");
  const int number = ::inotify_add_watch(events_.get(), folder.c_str(), kMask);
  if (number < 0) {
    const int failed = errno;
    const Code code = failed == ENOENT || failed == ENOTDIR ? Code::kNotFound : Code::kResourceExhausted;
    return make_status(code, "'", folder, "': ", std::strerror(failed));
  }
  watched_[number] = folder;
  return {};
}

/// What can not be watched is left out: there is always the version's folder itself.
void SourceWatch::add_below(const std::string& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (is_hidden(name) || !entry->is_directory(ignored) || entry->is_symlink(ignored)) continue;
    if (folder == folders_.model && is_version(name)) continue;
    if (add(entry->path().string()).ok()) add_below(entry->path().string());
  }
}

void SourceWatch::read_events() {
  alignas(inotify_event) char bytes[16 << 10];
  bool is_any = false;
  while (true) {
    const ssize_t size = ::read(events_.get(), bytes, sizeof bytes);
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(bytes + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      if ((event->mask & IN_Q_OVERFLOW) != 0) is_any = true;
      const auto found = watched_.find(event->wd);
      if (found == watched_.end()) continue;
      const std::string folder = found->second;
      if ((event->mask & IN_IGNORED) != 0) watched_.erase(found);
      if (event->len != 0 && is_change(folder, event->name, event->mask)) is_any = true;
    }
  }
  if (is_any) begin_quiet();
}

bool SourceWatch::is_change(const std::string& folder, std::string_view name, uint32_t mask) {
  if (is_hidden(name)) return false;
  const std::string path = cat(folder, "/", name);
  if ((mask & IN_ISDIR) == 0) {
    if ((mask & IN_CREATE) != 0 && !is_link(path)) return false;
    return is_source(folder, name);
  }
  // Of the versions only the own one, which may be exchanged as a whole.
  if (folder == folders_.model && is_version(name) && path != folders_.version) return false;
  if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0 && add(path).ok()) add_below(path);
  return true;
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
