/// A reload's new plugin files, tried before the server maps them itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "atoll/runtime/child_run.h"
#include "atoll/status.h"
#include "kernel/server/server.h"

namespace atl::kernel {

/// Files that were not mapped yet run code while they are: it may end the process. So a process of its own
/// maps the whole new generation first. [control]
class PluginTrial {
 public:
  /// \param kernel  outlives this; its loop does not run any more once this is gone
  /// \param end_requested  once true, a trial ends without an outcome
  /// \param done  after each trial that began. OK: it did not crash, and of whatever else is wrong the reload
  ///              itself tells; FAILED_PRECONDITION it crashed; UNAVAILABLE it takes too long
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
  std::optional<runtime::ChildRun> child_;
  int64_t ends_ns_ = 0;
};

}  // namespace atl::kernel
