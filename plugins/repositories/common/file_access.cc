#include "repositories/common/file_access.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>

namespace atl::filesystem {

namespace {
constexpr uint64_t kFurtherChunkBytes = 64 * 1024;
}

Status system_failure(std::string_view path, int error_number) {
  Code code = Code::kUnavailable;
  if (error_number == ENOENT) code = Code::kNotFound;
  if (error_number == ELOOP) code = Code::kInvalidArgument;
  return make_status(code, path, ": ", std::system_category().message(error_number));
}

std::string_view file_kind(mode_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFREG:
      return "a regular file";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    case S_IFLNK:
      return "a link";
    default:
      return "a file of unknown kind";
  }
}

bool is_special(mode_t mode) noexcept { return !S_ISDIR(mode) && !S_ISREG(mode) && !S_ISLNK(mode); }

Result<std::string> real_path(int fd) {
  std::string link = cat("/proc/self/fd/", fd);
  std::string target(PATH_MAX, '\0');
  ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size < 0) return system_failure(link, errno);
  if (static_cast<size_t>(size) == target.size()) return system_failure(link, ENAMETOOLONG);
  target.resize(static_cast<size_t>(size));
  return target;
}

Result<FileDescriptor> reopen_for_reading(int path_fd, int flags, std::string_view display_path) {
  std::string link = cat("/proc/self/fd/", path_fd);
  FileDescriptor fd(::open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags));
  if (!fd.valid()) return system_failure(display_path, errno);
  return fd;
}

Result<std::string> read_regular_file(int path_fd, uint64_t bytes_max, std::string_view display_path) {
  struct stat info;
  if (::fstat(path_fd, &info) != 0) return system_failure(display_path, errno);
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument(display_path, ": is ", file_kind(info.st_mode), ", expected a regular file");
  }
  auto too_long = [&] {
    return invalid_argument(display_path, ": is longer than the limit of ", bytes_max, " bytes");
  };
  if (static_cast<uint64_t>(info.st_size) > bytes_max) return too_long();
  auto file = reopen_for_reading(path_fd, 0, display_path);
  if (!file.ok()) return std::move(file).status();

  // One byte more than was announced, so that the usual file takes no more memory than it has bytes, and one
  // that grows meanwhile is noticed.
  std::string text(static_cast<size_t>(info.st_size) + 1, '\0');
  size_t length = 0;
  while (true) {
    if (length == text.size()) text.resize(length + kFurtherChunkBytes);
    ssize_t got = ::read(file->get(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(display_path, errno);
    if (got == 0) break;
    length += static_cast<size_t>(got);
    if (length > bytes_max) return too_long();
  }
  text.resize(length);
  text.shrink_to_fit();
  return text;
}

}  // namespace atl::filesystem
