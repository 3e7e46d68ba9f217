#include "backends/common/model_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace atl::backends {
namespace {

bool stays_inside(std::string_view name) {
  std::filesystem::path path(name);
  if (path.is_absolute() || name.find('\0') != std::string_view::npos) return false;
  for (const auto& part : path) {
    if (part == "..") return false;
  }
  return true;
}

const char* kind_text(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

Status stat_file(const std::string& path, struct stat& info) {
  if (::stat(path.c_str(), &info) == 0) return {};
  int error = errno;
  Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kInternal;
  return make_status(code, "model file '", path, "': ", std::generic_category().message(error));
}

}  // namespace

Result<ModelFile> find_model_file(const std::string& version_directory, const std::string& file_name,
                                  std::string_view what) noexcept {
  if (!stays_inside(file_name)) {
    return invalid_argument("default_model_filename: found '", file_name,
                            "', expected a path inside the version directory");
  }
  ModelFile file{cat(version_directory, "/", file_name), 0};
  struct stat info = {};
  ATOLL_RETURN_IF_ERROR(stat_file(file.path, info));
  if (S_ISDIR(info.st_mode)) {
    file.path = (std::filesystem::path(file.path) / std::filesystem::path(file_name).filename()).string();
    ATOLL_RETURN_IF_ERROR(stat_file(file.path, info));
  }
  // Opening a FIFO would wait for a writer, and a device may never end.
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument("model file '", file.path, "': found ", kind_text(info.st_mode), ", expected ",
                            what);
  }
  if (info.st_size == 0) {
    return invalid_argument("model file '", file.path, "': found an empty file, expected ", what);
  }
  file.size_bytes = static_cast<uint64_t>(info.st_size);
  return file;
}

}  // namespace atl::backends
