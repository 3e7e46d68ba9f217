/// The files of a recording: one that is written, and earlier ones.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "recording.pb.h"
#include "telemetry/recorder/recorder_settings.h"

namespace atl::recorder {

/// Nobody but the server's user may read what clients have sent: files are made with mode 0600, and never by writing into
/// one that is there. One thread.
class RecordingFile {
 public:
  /// \param began_unix_ns  when the recording began
  RecordingFile(std::string path, int64_t began_unix_ns)
      : path_(std::move(path)), began_unix_ns_(began_unix_ns) {}

  /// Begins the first file; one that is there is kept as an earlier one if there may be so many, or else removed.
  /// Errors: UNAVAILABLE the system refuses it.
  Status open(const RecordingFilter& filter, const RecordingLimits& limits);
  /// Adds the entry, in a new file if this one is full. It is in the file after flush() at the latest.
  /// \returns false: it is larger than any file may be, and left out
  /// Errors, after which only close() may follow: UNAVAILABLE it cannot be written; RESOURCE_EXHAUSTED there may be no
  /// further file.
  Result<bool> add(const recording::v1::Entry& entry, const RecordingFilter& filter,
                   const RecordingLimits& limits);
  /// Errors: UNAVAILABLE.
  Status flush();
  void close() noexcept { file_ = FileDescriptor(); }
  /// Of all files, since the beginning.
  uint64_t written_bytes() const noexcept { return written_bytes_; }

 private:
  Status begin_part(const RecordingFilter& filter, const RecordingLimits& limits);
  Status failure(const char* what) const;

  const std::string path_;
  const int64_t began_unix_ns_;
  FileDescriptor file_;
  uint32_t part_ = 0;
  uint64_t header_bytes_ = 0;
  uint64_t size_bytes_ = 0;  ///< of this file, with what waits
  uint64_t written_bytes_ = 0;
  std::string waiting_;
};

}  // namespace atl::recorder
