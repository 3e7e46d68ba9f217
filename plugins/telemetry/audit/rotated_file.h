/// A file of lines that is never larger than it may be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl::audit {

/// `path` is the newest, `path.1` the one before it, and so on. Another process may move it away at any time: what is
/// written next makes a new one. One thread at a time.
class RotatedFile {
 public:
  /// \param most_bytes  of one file; 0: any number
  /// \param old_files  that are kept beside it
  RotatedFile(std::string path, uint64_t most_bytes, int64_t old_files);

  /// Lines are appended to a file that exists. Errors: why the file cannot be opened, or that it is no plain file.
  Status open() noexcept;
  /// Writes whole lines, one after the other: where the file is full the next ones are in a new one. A line that is larger than a file
  /// may be has one of its own.
  /// \param written  set to how many of the lines were written: all of them, or those before the failure
  /// Errors: why it cannot.
  Status append(std::string_view lines, uint64_t* written) noexcept;

 private:
  /// Writes the first of the lines, as many as fit. \param lines  what is left of them afterwards
  Status append_some(std::string_view* lines) noexcept;
  bool was_moved() const noexcept;
  Status rotate() noexcept;
  Status failure(std::string_view what) const;

  const std::string path_;
  const uint64_t most_bytes_;
  const int64_t old_files_;
  FileDescriptor file_;
};

}  // namespace atl::audit
