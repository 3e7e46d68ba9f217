#include "models/catalog/loading/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"

namespace atl::models {
namespace {

std::string system_reason(int error) { return std::generic_category().message(error); }

/// The path's components without "." and empty ones; false if it is absolute or climbs above its start.
bool split_path(std::string_view path, std::vector<std::string>* components) {
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string_view::npos) return false;
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view component = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      if (components->empty()) return false;
      components->pop_back();
    } else {
      components->emplace_back(component);
    }
  }
  return !components->empty();
}

Status open_failure(int error, std::string_view what) {
  if (error == ENOENT) return not_found(what, ": ", system_reason(error));
  if (error == ELOOP || error == ENOTDIR) {
    return invalid_argument(what, ": a component of the path is a symbolic link or not a directory");
  }
  return unavailable(what, ": ", system_reason(error));
}

/// Opens every component below the directory without following links.
Result<FileDescriptor> open_beneath(const std::string& directory, const std::vector<std::string>& components,
                                    std::string_view what) {
  FileDescriptor at(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) return open_failure(errno, what);
  for (size_t i = 0; i < components.size(); ++i) {
    bool last = i + 1 == components.size();
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
    FileDescriptor next(::openat(at.get(), components[i].c_str(), flags));
    if (next.get() < 0) return open_failure(errno, what);
    at = std::move(next);
  }
  return at;
}

Result<std::string> read_all(int fd, uint64_t size_bytes, std::string_view what) {
  std::string content(size_bytes, '\0');
  size_t have = 0;
  while (have < content.size()) {
    ssize_t got = ::read(fd, content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unavailable(what, ": ", system_reason(errno));
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  content.resize(have);
  return content;
}

}  // namespace

bool is_inside(std::string_view filename) {
  std::vector<std::string> components;
  return split_path(filename, &components);
}

Result<std::string> read_model_file(const std::string& directory, std::string_view filename,
                                    uint64_t size_bytes_max, std::string_view what) {
  std::vector<std::string> components;
  if (!split_path(filename, &components)) return invalid_argument(what, ": is outside model directory");
  Result<FileDescriptor> file = open_beneath(directory, components, what);
  if (!file.ok()) return std::move(file).status();
  struct stat info {};
  if (::fstat(file->get(), &info) != 0) return unavailable(what, ": ", system_reason(errno));
  if (!S_ISREG(info.st_mode)) return invalid_argument(what, ": expected a regular file");
  auto size_bytes = static_cast<uint64_t>(info.st_size);
  if (size_bytes > size_bytes_max) {
    return invalid_argument(what, ": has ", size_bytes, " bytes, at most ", size_bytes_max, " are supported");
  }
  return read_all(file->get(), size_bytes, what);
}

}  // namespace atl::models
