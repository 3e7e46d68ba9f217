#include "telemetry/trace/trace_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "atoll/core/file_descriptor.h"

namespace atl::tracing {
namespace {

constexpr mode_t kPermissions = 0644;

Status failure(std::string_view what, const std::string& path) {
  return internal_error("trace file '", path, "' cannot be ", what, ": ", std::strerror(errno));
}

FileDescriptor open_file(const std::string& path, int flags) noexcept {
  return FileDescriptor(::open(path.c_str(), flags | O_CLOEXEC, kPermissions));
}

bool write_at(int fd, std::string_view bytes, off_t offset) noexcept {
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return true;
}

/// A file that no other generation of this plugin writes to meanwhile: two may during a reload.
struct LockedFile {
  FileDescriptor file;
  struct stat info {};
  bool is_new = false;

  Status open(const std::string& path) {
    constexpr int kTriesMax = 3;
    for (int i = 0; i < kTriesMax; ++i) {
      file = open_file(path, O_RDWR | O_CREAT | O_EXCL);
      is_new = file.valid();
      if (!is_new) file = open_file(path, O_RDWR | O_CREAT);
      if (!file.valid()) return failure("opened", path);
      if (::flock(file.get(), LOCK_EX) != 0) return failure("locked", path);
      if (::fstat(file.get(), &info) != 0) return failure("looked at", path);
      if (info.st_nlink != 0) break;  // else it was removed while it was waited for
    }
    return {};
  }
};

/// The file's last byte; 0 if there is none.
char last_byte(int fd, off_t size) noexcept {
  char last = 0;
  return size > 0 && ::pread(fd, &last, 1, size - 1) == 1 ? last : '\0';
}

}  // namespace

Status TraceFile::append(std::string_view elements) {
  LockedFile locked;
  ATOLL_RETURN_IF_ERROR(locked.open(path_));
  const FileDescriptor& file = locked.file;
  struct stat& info = locked.info;
  if (fresh_ && ::ftruncate(file.get(), info.st_size = 0) != 0) return failure("emptied", path_);
  fresh_ = false;
  off_t end = info.st_size;
  if (end != 0 && last_byte(file.get(), end) != ']') {
    return internal_error("trace file '", path_, "' does not end in ']': somebody else writes to it");
  }
  std::string text;
  text.reserve(elements.size() + 2);
  text.push_back(end == 0 ? '[' : ',');
  text.append(elements).push_back(']');
  off_t begin = end == 0 ? 0 : end - 1;
  if (write_at(file.get(), text, begin)) return {};
  Status status = failure("written", path_);
  if (locked.is_new && end == 0) {
    ::unlink(path_.c_str());
    return status;
  }
  // These need no space: the bracket has been there before.
  bool restored = ::ftruncate(file.get(), end) == 0 && (end == 0 || write_at(file.get(), "]", begin));
  return restored ? std::move(status) : std::move(status).note("a part of a trace is left in it");
}

Status TraceFile::write_numbered(std::string_view elements) {
  std::string path = cat(path_, ".", next_index_);
  while (skip_existing_ && ::access(path.c_str(), F_OK) == 0) path = cat(path_, ".", ++next_index_);
  std::string partial = cat(path, ".partial");
  {
    FileDescriptor file = open_file(partial, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.valid()) return failure("opened", partial);
    if (!write_at(file.get(), cat("[", elements, "]"), 0)) {
      Status status = failure("written", partial);
      ::unlink(partial.c_str());
      return status;
    }
  }
  if (std::rename(partial.c_str(), path.c_str()) != 0) {
    Status status = failure("renamed", partial);
    ::unlink(partial.c_str());
    return status;
  }
  ++next_index_;
  return {};
}

}  // namespace atl::tracing
