#include "repositories/common/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "repositories/common/private_files.h"

namespace atl::filesystem {

namespace {

constexpr std::string_view kPrefix = "atoll-files-";
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Status as_unavailable(std::string_view path, int error) {
  return unavailable(system_failure(path, error).message());
}

/// \returns false  something is left: without descriptors, memory or a disk that can be written it takes a later try
bool remove_tree(const std::string& path) noexcept {
  try {
    std::error_code failed;
    std::filesystem::remove_all(path, failed);
    return !failed;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// Makes a directory of a name that nobody uses, for the owner alone.
Result<std::string> make_directory(std::string path_template) {
  if (::mkdtemp(path_template.data()) == nullptr) return as_unavailable(path_template, errno);
  return path_template;
}

bool is_at(const FileDescriptor& directory, const std::string& path) {
  struct stat open, named;
  return ::fstat(directory.get(), &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

void remove_abandoned(const std::string& below) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(below, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    FileDescriptor folder(::open(entry->path().c_str(), kOpenDirectory));
    struct stat info;
    if (!folder.valid() || ::fstat(folder.get(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) remove_tree(entry->path());
  }
}

}  // namespace

Result<std::shared_ptr<PrivateFolder>> PrivateFolder::create(const std::string& below) {
  std::string base = below;
  if (base.empty()) {
    std::error_code failed;
    base = std::filesystem::temp_directory_path(failed);
    if (failed) return unavailable("the system's temporary directory: ", failed.message());
  }
  remove_abandoned(base);
  while (true) {
    auto path = make_directory(cat(base, "/", kPrefix, "XXXXXX"));
    if (!path.ok()) return std::move(path).status();
    FileDescriptor lock(::open(path->c_str(), kOpenDirectory));
    if (!lock.valid() && errno != ENOENT) return as_unavailable(*path, errno);
    // Before it is locked another process may take it for abandoned: then a new one is made.
    if (!lock.valid()) continue;
    if (::flock(lock.get(), LOCK_SH | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return as_unavailable(*path, errno);
    } else if (is_at(lock, *path)) {
      return std::shared_ptr<PrivateFolder>(new PrivateFolder(std::move(*path), std::move(lock)));
    }
  }
}

PrivateFolder::~PrivateFolder() { remove_tree(path_); }

Result<std::string> PrivateFolder::add_directory() {
  std::scoped_lock lock(mutex_);
  std::erase_if(directories_, [](const auto& entry) { return entry.second && remove_tree(entry.first); });
  auto path = make_directory(cat(path_, "/XXXXXX"));
  if (path.ok()) directories_.emplace(*path, false);
  return path;
}

void PrivateFolder::remove_directory(const std::string& path) noexcept {
  const bool is_removed = remove_tree(path);
  std::scoped_lock lock(mutex_);
  const auto entry = directories_.find(path);
  if (entry == directories_.end()) return;
  if (is_removed) {
    directories_.erase(entry);
  } else {
    entry->second = true;
  }
}

bool PrivateFolder::exists() const { return is_at(lock_, path_); }

Result<std::shared_ptr<const PrivateDirectory>> PrivateDirectory::create(
    std::shared_ptr<PrivateFolder> folder, const std::vector<RepositoryFile>& files) {
  auto path = folder->add_directory();
  if (!path.ok()) return std::move(path).status();
  std::shared_ptr<const PrivateDirectory> directory(
      new PrivateDirectory(std::move(folder), std::move(path).value()));
  FileDescriptor at(::open(directory->path().c_str(), kOpenDirectory));
  if (!at.valid()) return as_unavailable(directory->path(), errno);
  ATOLL_RETURN_IF_ERROR(write_private_files(at.get(), files));
  return directory;
}

PrivateDirectory::~PrivateDirectory() { folder_->remove_directory(path_); }

}  // namespace atl::filesystem
