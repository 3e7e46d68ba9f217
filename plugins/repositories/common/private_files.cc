#include "repositories/common/private_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "repositories/common/file_access.h"

namespace atl::filesystem {

namespace {

/// Of a path, without "." and "..".
using Components = std::vector<std::string>;

Status refused(std::string_view path, std::string_view reason) {
  return invalid_argument("Invalid file parameter 'file:", path, "'", reason);
}

Result<Components> split(std::string_view path) {
  if (path.size() > kPrivatePathBytesMax) {
    return invalid_argument("Invalid file parameter: its path has ", path.size(), " bytes, expected at most ",
                            kPrivatePathBytesMax);
  }
  if (path.find('\0') != std::string_view::npos) {
    return invalid_argument("Invalid file parameter: its path contains a NUL byte");
  }
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  if (normal.starts_with('/') || normal == ".." || normal.starts_with("../")) {
    return refused(path, cat(" with normalized path '", normal, "' must stay within model directory."));
  }
  if (normal.empty() || normal == "." || normal.ends_with('/')) {
    return refused(path, ", expected the path of a file");
  }
  Components components;
  for (const auto& part : std::filesystem::path(normal)) components.push_back(part.string());
  if (components.size() > kPrivateDepthMax) {
    return refused(path, cat(", it is nested deeper than ", kPrivateDepthMax, " directories"));
  }
  for (const std::string& component : components) {
    if (component.size() > NAME_MAX) {
      return refused(path,
                     cat(", a name in it has ", component.size(), " bytes, expected at most ", NAME_MAX));
    }
  }
  return components;
}

Status unavailable_because(std::string_view path, int error) {
  Status reason = system_failure(cat("'file:", path, "'"), error);
  return unavailable(reason.message());
}

Status write_all(int fd, std::string_view content, std::string_view path) {
  while (!content.empty()) {
    ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return unavailable_because(path, errno);
    content.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status write_one(int directory, const Components& components, const RepositoryFile& file) {
  FileDescriptor holder;
  int at = directory;
  for (size_t i = 0; i + 1 < components.size(); ++i) {
    const char* name = components[i].c_str();
    if (::mkdirat(at, name, 0700) != 0 && errno != EEXIST) return unavailable_because(file.path, errno);
    FileDescriptor next(::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return unavailable_because(file.path, errno);
    holder = std::move(next);
    at = holder.get();
  }
  FileDescriptor out(
      ::openat(at, components.back().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out.valid()) return unavailable_because(file.path, errno);
  return write_all(out.get(), file.content, file.path);
}

}  // namespace

Status write_private_files(int directory, const std::vector<RepositoryFile>& files) {
  if (files.size() > kPrivateFilesMax) {
    return invalid_argument("the model has ", files.size(), " files, expected at most ", kPrivateFilesMax);
  }
  std::map<Components, const RepositoryFile*> all;
  for (const RepositoryFile& file : files) {
    auto components = split(file.path);
    if (!components.ok()) return std::move(components).status();
    if (!all.emplace(std::move(components).value(), &file).second) {
      return refused(file.path, ", the file is given twice");
    }
  }
  for (const auto& [components, file] : all) {
    Components parent = components;
    for (parent.pop_back(); !parent.empty(); parent.pop_back()) {
      if (all.contains(parent)) return refused(file->path, ", directory has been created as a file");
    }
  }
  for (const auto& [components, file] : all) ATOLL_RETURN_IF_ERROR(write_one(directory, components, *file));
  return {};
}

}  // namespace atl::filesystem
