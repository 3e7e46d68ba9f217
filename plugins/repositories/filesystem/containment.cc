#include "repositories/filesystem/containment.h"

#include <fcntl.h>

#include <cerrno>

namespace atl::filesystem {

namespace {

bool is_within(std::string_view path, std::string_view root) {
  if (root == "/") return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

}  // namespace

Result<Containment> Containment::open(const std::string& path, bool follow_links) {
  Containment repository;
  repository.follow_links_ = follow_links;
  repository.root_ = FileDescriptor(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!repository.root_.valid() || ::fstat(repository.root_.get(), &repository.info_) != 0) {
    return system_failure(path, errno);
  }
  if (!S_ISDIR(repository.info_.st_mode)) {
    return invalid_argument(path, ": is ", file_kind(repository.info_.st_mode), ", expected a directory");
  }
  auto real = real_path(repository.root_.get());
  if (!real.ok()) return std::move(real).status();
  repository.real_root_ = std::move(real).value();
  return repository;
}

Result<Found> Containment::find(int directory, const std::string& name, std::string_view display_path) const {
  Found found;
  found.path_fd = FileDescriptor(::openat(directory, name.c_str(), O_PATH | O_CLOEXEC));
  struct stat info;
  if (!found.path_fd.valid() || ::fstat(found.path_fd.get(), &info) != 0) {
    return system_failure(display_path, errno);
  }
  found.mode = info.st_mode;
  found.device = info.st_dev;
  found.inode = info.st_ino;
  if (follow_links_) return found;
  auto real = real_path(found.path_fd.get());
  if (!real.ok()) return std::move(real).status();
  if (!is_within(*real, real_root_)) {
    // Where it leads is not said: messages name nothing outside the repository.
    return invalid_argument(display_path,
                            ": is reached by a link that leads out of the repository; the option "
                            "'follow_links' allows that");
  }
  return found;
}

}  // namespace atl::filesystem
