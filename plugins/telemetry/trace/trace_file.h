/// The files of mode triton.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::tracing {

/// A JSON array on disk that can be read at any moment: what is appended takes the place of its last bracket.
/// Files are opened for each write, so one that is moved away is begun anew. By one thread.
class TraceFile {
 public:
  /// \param continues  there is a file that another holder of this path, whose place is taken, may still
  /// write to:
  ///               it is appended to, and numbered files that exist are passed over. Otherwise what an
  ///               earlier run has left is replaced.
  TraceFile(std::string path, bool continues)
      : path_(std::move(path)), fresh_(!continues), skip_existing_(continues) {}

  /// Adds elements to the array in <path>. On failure the file is as it was, and one that was not there is not there then.
  /// Errors: INTERNAL the path and the system's reason.
  Status append(std::string_view elements);
  /// Writes an array of its own to <path>.<index>, counting from 0. It appears as a whole or not at all.
  Status write_numbered(std::string_view elements);

 private:
  std::string path_;
  bool fresh_;  // nothing has been written yet, and what is there is not ours
  bool skip_existing_;
  uint64_t next_index_ = 0;
};

}  // namespace atl::tracing
