/// A reload's new plugin files, tried before the server runs code of them itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "atoll/core/status.h"
#include "atoll/lib/running_program.h"
#include "atoll/lib/scratch_folder.h"
#include "kernel/server/server.h"

namespace atl::kernel {

/// Code that has not yet run here may end the process, or never return. So a process of its own first maps the
/// whole new generation, then makes, starts and stops the instances whose files are new, with what they
/// require (try_plugins()). [control]
class PluginTrial {
 public:
  /// \param kernel  outlives this; its loop does not run any more once this is gone
  /// \param end_requested  once true, a trial ends without an outcome
  /// \param done  after each trial that began. OK: it came to its end, and of whatever else is wrong the reload
  ///              itself tells; FAILED_PRECONDITION the process ended; UNAVAILABLE it takes too long
  PluginTrial(Kernel& kernel, std::function<bool()> end_requested, std::function<void(Status)> done);
  PluginTrial(const PluginTrial&) = delete;
  PluginTrial& operator=(const PluginTrial&) = delete;

  /// Tries the manifest as it is now. \returns false: no need, or no process to be had; `done` is not called.
  bool begin(const ServerArguments& arguments);
  bool runs() const { return child_.has_value(); }

 private:
  void poll();

  Kernel& kernel_;
  std::function<bool()> end_requested_;
  std::function<void(Status)> done_;
  std::optional<ScratchFolder> folder_;
  std::optional<RunningProgram> child_;
  int64_t timeout_ns_ = 0;
  int64_t ends_ns_ = 0;
};

/// The other side, in the trial's process. \param trial  a folder for what instances write, then the names of
/// the instances. Ends the process.
[[noreturn]] void try_plugins(const ServerArguments& arguments, LogSink& sink,
                              std::span<const std::string> trial);

}  // namespace atl::kernel
