#include "telemetry/audit/rotated_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "atoll/core/text.h"
#include "telemetry/common/old_files.h"

namespace atl::audit {
namespace {

/// The log says who does what, so only the file's owner may read it.
constexpr mode_t kPermissions = 0600;

bool write_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

RotatedFile::RotatedFile(std::string path, uint64_t most_bytes, int64_t old_files)
    : path_(std::move(path)), most_bytes_(most_bytes), old_files_(old_files) {}

Status RotatedFile::failure(std::string_view what) const {
  return unavailable("the audit file '", path_, "' cannot be ", what, ": ", std::strerror(errno));
}

Status RotatedFile::open() noexcept {
  // Without O_NONBLOCK the open of a pipe would wait for a reader.
  FileDescriptor file(::open(
      path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kPermissions));
  if (!file.valid()) return failure("opened");
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return failure("looked at");
  if (!S_ISREG(info.st_mode)) return unavailable("the audit file '", path_, "' is no plain file");
  if ((info.st_mode & 0777) != kPermissions && ::fchmod(file.get(), kPermissions) != 0)
    return failure("made its owner's alone");
  file_ = std::move(file);
  return {};
}

bool RotatedFile::was_moved() const noexcept {
  return !file_.valid() || !telemetry::is_at(file_.get(), path_);
}

Status RotatedFile::rotate() noexcept {
  const char* const failed = telemetry::move_old_files(path_, old_files_);
  return failed == nullptr ? open() : failure(failed);
}

Status RotatedFile::append(std::string_view lines) noexcept {
  if (was_moved()) ATOLL_RETURN_IF_ERROR(open());
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return failure("looked at");
  const uint64_t bytes = static_cast<uint64_t>(info.st_size);
  if (most_bytes_ != 0 && bytes != 0 && bytes + lines.size() > most_bytes_) {
    ATOLL_RETURN_IF_ERROR(rotate());
    info.st_size = 0;
  }
  if (write_all(file_.get(), lines)) return {};
  Status failed = failure("written");
  // A part of a line would make the next one unreadable.
  const bool is_whole = ::ftruncate(file_.get(), info.st_size) == 0;
  return is_whole ? std::move(failed) : std::move(failed).note("a part of a line is left in it");
}

}  // namespace atl::audit
