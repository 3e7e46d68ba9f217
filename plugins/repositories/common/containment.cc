#include "repositories/common/containment.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace atl::filesystem {

namespace {

bool is_within(std::string_view path, std::string_view root) {
  if (root == "/") return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

}  // namespace

Result<Containment> Containment::open(const std::string& path, const LinkRules& links) {
  Containment repository;
  repository.follow_links_ = links.follow_links;
  repository.option_ = links.option;
  repository.root_ = FileDescriptor(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!repository.root_.valid() || ::fstat(repository.root_.get(), &repository.info_) != 0) {
    return system_failure(path, errno);
  }
  if (!S_ISDIR(repository.info_.st_mode)) {
    return invalid_argument(path, ": is ", file_kind(repository.info_.st_mode), ", expected a directory");
  }
  auto real = real_path(repository.root_.get());
  if (!real.ok()) return std::move(real).status();
  repository.real_roots_.push_back(std::move(real).value());
  for (const std::string& linked : links.linked_paths) {
    const FileDescriptor root(::open(linked.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid()) continue;
    if (auto real_linked = real_path(root.get()); real_linked.ok())
      repository.real_roots_.push_back(std::move(real_linked).value());
  }
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
  if (std::ranges::none_of(real_roots_, [&](const std::string& root) { return is_within(*real, root); })) {
    return invalid_argument(display_path, ": is reached by a link that leads out of the repository, to ",
                            *real, option_.empty() ? "" : "; ", option_,
                            option_.empty() ? "" : " allows that for a directory, 'follow_links' for all");
  }
  return found;
}

}  // namespace atl::filesystem
