/// One run of this very program in a process of its own, for what might end the process that does it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl::runtime {

/// A new empty folder in the system's temporary one, which only this user may enter, for as long as this lives.
class ScratchFolder {
 public:
  /// \param name  its name begins with this. Errors: UNAVAILABLE the system refuses.
  static Result<ScratchFolder> make(std::string_view name) noexcept;
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::string& path() const noexcept { return path_; }
  /// The folder stays when this object goes.
  void keep() noexcept { path_.clear(); }

 private:
  explicit ScratchFolder(std::string path) noexcept : path_(std::move(path)) {}
  std::string path_;  // empty: moved from, or kept
};

/// One thread's. The environment is this process's; standard input is empty. What it starts itself ends with
/// it, as far as that stays in its process group.
class ChildRun {
 public:
  /// How it ended.
  struct End {
    int exit_code = -1;  ///< -1: a signal ended it
    int signal = 0;
  };

  /// \param arguments  argv, the program's name first. \param option  follows with the path of a folder that
  /// lives as long as this, and then with each of `values`: "--trial=/tmp/x" "--trial=a". Errors: UNAVAILABLE
  /// no folder or process to be had.
  static Result<ChildRun> start(std::vector<std::string> arguments, std::string_view option,
                                const std::vector<std::string>& values) noexcept;
  /// In the process that was started: its thread is named so, not after the link that it was started by; its
  /// notes are told; and it ends with the one that started it.
  static void begin(const char* thread_name) noexcept;
  ChildRun(ChildRun&& other) noexcept;
  ChildRun& operator=(ChildRun&&) = delete;
  /// Ends it if it still runs.
  ~ChildRun();

  /// Nothing: it still runs. Does not wait. Not to be asked again once it has ended.
  std::optional<End> poll() noexcept;
  /// ", while calling 'start' of plugin 'x' (examples/softmax)": the last note that it told
  /// (ThreadNote::write_to()) to its standard output; empty: none.
  std::string last_note() const;
  /// The report of the fault that ended it (fault_report.h), else "exit code 3" or "SIGKILL" and the last note.
  std::string end_text(const End& end) const;

 private:
  ChildRun(pid_t process, ScratchFolder folder, FileDescriptor output, FileDescriptor errors) noexcept
      : process_(process),
        folder_(std::move(folder)),
        output_(std::move(output)),
        errors_(std::move(errors)) {}
  /// The last 64 KiB.
  static std::string tail(const FileDescriptor& file);

  pid_t process_;  // of its group too; 0: it has ended
  ScratchFolder folder_;
  FileDescriptor output_;
  FileDescriptor errors_;
};

}  // namespace atl::runtime
