#include "telemetry/audit/rotated_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

std::string_view first_line(std::string_view lines) noexcept {
  const size_t end = lines.find('\n');
  return end == std::string_view::npos ? lines : lines.substr(0, end + 1);
}

/// As many of the first lines as have so many bytes together; empty: the first one has more.
std::string_view lines_within(std::string_view lines, uint64_t bytes) noexcept {
  if (lines.size() <= bytes) return lines;
  const size_t end = bytes == 0 ? std::string_view::npos : lines.rfind('\n', bytes - 1);
  return end == std::string_view::npos ? std::string_view() : lines.substr(0, end + 1);
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

Status RotatedFile::append(std::string_view lines, uint64_t* written) noexcept {
  *written = 0;
  while (!lines.empty()) {
    std::string_view rest = lines;
    ATOLL_RETURN_IF_ERROR(append_some(&rest));
    const std::string_view done = lines.substr(0, lines.size() - rest.size());
    *written += static_cast<uint64_t>(std::ranges::count(done, '\n'));
    lines = rest;
  }
  return {};
}

Status RotatedFile::append_some(std::string_view* lines) noexcept {
  if (was_moved()) ATOLL_RETURN_IF_ERROR(open());
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return failure("looked at");
  const uint64_t bytes = static_cast<uint64_t>(info.st_size);
  std::string_view fitting = *lines;
  if (most_bytes_ != 0) {
    fitting = lines_within(*lines, most_bytes_ > bytes ? most_bytes_ - bytes : 0);
    if (fitting.empty() && bytes != 0) {
      ATOLL_RETURN_IF_ERROR(rotate());
      info.st_size = 0;
      fitting = lines_within(*lines, most_bytes_);
    }
    if (fitting.empty()) fitting = first_line(*lines);
  }
  if (write_all(file_.get(), fitting)) {
    lines->remove_prefix(fitting.size());
    return {};
  }
  Status failed = failure("written");
  // A part of a line would make the next one unreadable.
  const bool is_whole = ::ftruncate(file_.get(), info.st_size) == 0;
  return is_whole ? std::move(failed) : std::move(failed).note("a part of a line is left in it");
}

}  // namespace atl::audit
