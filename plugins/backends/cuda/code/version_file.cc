#include "backends/cuda/code/version_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>

#include "atoll/core/file_descriptor.h"

namespace atl::cuda_backend {
namespace {

Status system_failure(const std::string& path, int error) {
  const Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kInternal;
  return make_status(code, "'", path, "': ", std::generic_category().message(error));
}

Status check(const std::string& path, const struct stat& info) {
  // A FIFO would wait for a writer, and a device may never end.
  if (!S_ISREG(info.st_mode)) return invalid_argument("'", path, "': found no regular file, expected one");
  if (info.st_size == 0) return invalid_argument("'", path, "': found an empty file");
  return {};
}

Status read_all(int file, const std::string& path, std::string& bytes) {
  for (size_t got = 0; got < bytes.size();) {
    const ssize_t count = read(file, bytes.data() + got, bytes.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure(path, errno);
    if (count == 0) {
      return invalid_argument("'", path, "': found ", got, " bytes, expected ", bytes.size(),
                              ": somebody is writing it");
    }
    got += static_cast<size_t>(count);
  }
  return {};
}

}  // namespace

bool stays_inside(std::string_view name) noexcept {
  const std::filesystem::path path(name);
  if (name.empty() || path.is_absolute() || name.find('\0') != std::string_view::npos) return false;
  for (const auto& part : path) {
    if (part == "..") return false;
  }
  return true;
}

Result<VersionFile> find_version_file(const std::string& version_directory,
                                      const std::string& name) noexcept {
  if (!stays_inside(name))
    return invalid_argument("found file '", name, "', expected a path inside the version directory");
  VersionFile file{cat(version_directory, "/", name), 0};
  struct stat info = {};
  if (stat(file.path.c_str(), &info) != 0) return system_failure(file.path, errno);
  ATOLL_RETURN_IF_ERROR(check(file.path, info));
  file.size_bytes = static_cast<uint64_t>(info.st_size);
  return file;
}

Result<std::string> read_version_file(const std::string& version_directory, const std::string& name,
                                      uint64_t most_bytes) noexcept {
  Result<VersionFile> found = find_version_file(version_directory, name);
  if (!found.ok()) return std::move(found).status();
  const FileDescriptor file(open(found->path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (!file.valid() || fstat(file.get(), &info) != 0) return system_failure(found->path, errno);
  ATOLL_RETURN_IF_ERROR(check(found->path, info));
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > most_bytes)
    return invalid_argument("'", found->path, "': found ", size, " bytes, expected at most ", most_bytes);
  try {
    std::string bytes(size, '\0');
    ATOLL_RETURN_IF_ERROR(read_all(file.get(), found->path, bytes));
    return bytes;
  } catch (const std::bad_alloc&) {
    return make_status(Code::kResourceExhausted, "'", found->path, "': no memory for its ", size, " bytes");
  }
}

}  // namespace atl::cuda_backend
