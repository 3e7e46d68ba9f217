/// Another program that runs for this process, and what it writes.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "atoll/lib/process_handle.h"

namespace atl {

struct ProgramCall {
  /// The program's path or name, then its arguments.
  std::vector<std::string> words;
  /// What is executed instead of words[0]; empty: that.
  std::string path = {};
  /// "NAME=value", null at the end.
  char* const* environment = environ;
  /// What it reads.
  std::string_view input = {};
  /// How much of what it writes is kept; 0: it writes where this process does. The end says most, so that is what is kept.
  size_t output_bytes_max = 0;
  size_t errors_bytes_max = 0;
  /// What the program has started lives on when it has ended by itself.
  bool leaves_group = false;
};

/// A program in a process group of its own. It is killed with its group when this object goes. Not thread safe.
class RunningProgram {
 public:
  static constexpr int64_t kNoTimeout = INT64_MAX;

  /// It has no file of this process but those that it reads and writes.
  /// Errors: RESOURCE_EXHAUSTED no process, memory or descriptor to be had; UNAVAILABLE it cannot be executed.
  static Result<RunningProgram> start(const ProgramCall& call);
  RunningProgram(RunningProgram&&) noexcept = default;
  RunningProgram& operator=(RunningProgram&&) = delete;
  ~RunningProgram() { process_.kill(); }

  /// Waits for its end, and reads what it writes: without that it waits once it has written 64 KiB. Once it has ended,
  /// what it has left in its group is killed, unless it may leave it. \param timeout_ns  0: looks only \returns nothing: it still runs, or its
  /// end was told before
  std::optional<ProcessEnd> wait(int64_t timeout_ns);
  /// What it has written, as far as it was read and is kept.
  const std::string& output() const noexcept { return output_.text; }
  const std::string& errors() const noexcept { return errors_.text; }

 private:
  struct Written {
    /// \returns false: no pipe to be had
    bool open(size_t bytes_kept);
    void read();

    FileDescriptor reader, writer;
    size_t bytes_max = 0;
    std::string text;
  };
  RunningProgram() = default;

  ProcessHandle process_;
  bool leaves_group_ = false;
  Written output_, errors_;
};

/// The last line of a text that says something, valid UTF-8 of at most 400 bytes.
std::string last_line_of(std::string_view text);

}  // namespace atl
