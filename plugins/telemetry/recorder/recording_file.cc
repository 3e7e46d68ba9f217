#include "telemetry/recorder/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "atoll/lib/recording_writer.h"
#include "telemetry/common/old_files.h"

namespace atl::recorder {
namespace {

constexpr mode_t kPermissions = 0600;
/// So many bytes are written at once.
constexpr size_t kWriteBytes = size_t{1} << 20;

}  // namespace

Status RecordingFile::failure(const char* what) const {
  return unavailable("the recording '", path_, "' cannot be ", what, ": ", std::strerror(errno));
}

Status RecordingFile::begin_part(const RecordingFilter& filter, const RecordingLimits& limits) {
  struct stat info {};
  const bool is_device = ::stat(path_.c_str(), &info) == 0 && S_ISCHR(info.st_mode);
  if (is_device) {
    file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    const char* const failed = telemetry::move_old_files(path_, int64_t{limits.files_max} - 1);
    if (failed != nullptr) return failure(failed);
    file_ = FileDescriptor(
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPermissions));
  }
  if (!file_.valid()) return failure("opened");
  (void)append_entry(header_entry(began_unix_ns_, ++part_, filter.tensors, filter.responses), &waiting_);
  size_bytes_ = header_bytes_ = waiting_.size();
  return {};
}

Status RecordingFile::open(const RecordingFilter& filter, const RecordingLimits& limits) {
  return begin_part(filter, limits);
}

Result<bool> RecordingFile::add(const recording::v1::Entry& entry, const RecordingFilter& filter,
                                const RecordingLimits& limits) {
  const size_t before = waiting_.size();
  if (!append_entry(entry, &waiting_)) return false;
  uint64_t size = waiting_.size() - before;
  if (header_bytes_ + size > limits.file_bytes_max) {
    waiting_.resize(before);
    return false;
  }
  if (size_bytes_ + size > limits.file_bytes_max) {
    waiting_.resize(before);
    ATOLL_RETURN_IF_ERROR(flush());
    if (limits.files_max == 1) {
      return Status(Code::kResourceExhausted,
                    cat("the recording '", path_, "' is full: it has ", size_bytes_, " bytes"));
    }
    // Another process, or another instance, may have put its own there.
    if (!telemetry::is_at(file_.get(), path_))
      return unavailable("the recording '", path_, "' has been replaced by another file");
    ATOLL_RETURN_IF_ERROR(begin_part(filter, limits));
    (void)append_entry(entry, &waiting_);
  }
  size_bytes_ += size;
  if (waiting_.size() >= kWriteBytes) ATOLL_RETURN_IF_ERROR(flush());
  return true;
}

Status RecordingFile::flush() {
  std::string_view left = waiting_;
  while (!left.empty()) {
    const ssize_t size = ::write(file_.get(), left.data(), left.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return failure("written");
    left.remove_prefix(static_cast<size_t>(size));
    written_bytes_ += static_cast<uint64_t>(size);
  }
  waiting_.clear();
  return {};
}

}  // namespace atl::recorder
