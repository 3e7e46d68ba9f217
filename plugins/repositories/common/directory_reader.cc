#include "repositories/common/directory_reader.h"

#include <fcntl.h>

#include <cerrno>

namespace atl::filesystem {

Result<DirectoryReader> DirectoryReader::open(int path_fd, std::string_view display_path) {
  auto fd = reopen_for_reading(path_fd, O_DIRECTORY, display_path);
  if (!fd.ok()) return std::move(fd).status();
  DirectoryReader reader;
  reader.display_path_ = display_path;
  reader.stream_.reset(::fdopendir(fd->get()));
  if (reader.stream_ == nullptr) return system_failure(display_path, errno);
  (void)fd->release();  // the stream closes it
  return reader;
}

Result<bool> DirectoryReader::next(Entry* entry) {
  while (true) {
    errno = 0;
    const dirent* raw = ::readdir(stream_.get());
    if (raw == nullptr) {
      if (errno != 0) return system_failure(display_path_, errno);
      return false;
    }
    entry->name = raw->d_name;
    if (entry->name == "." || entry->name == "..") continue;
    entry->type = raw->d_type;
    if (entry->type == DT_UNKNOWN) {  // some file systems do not say
      struct stat info;
      if (::fstatat(fd(), raw->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) entry->type = IFTODT(info.st_mode);
    }
    return true;
  }
}

}  // namespace atl::filesystem
