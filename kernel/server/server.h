/// The server as main sees it: check, run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "kernel/log/log_sink.h"
#include "kernel/manifest/manifest.h"

namespace atl::kernel {

class Kernel;

/// A program that has the server inside itself: it has the signals and the limits of the process, which the
/// server then leaves alone. [control] unless said otherwise.
class Program {
 public:
  /// [any] Once true it stays so; whoever makes it true wakes the kernel's loop.
  virtual bool end_requested() const noexcept = 0;
  /// How long the drain may take. \param configured_ns  what the manifest says
  virtual int64_t drain_timeout_ns(int64_t configured_ns) const noexcept = 0;
  /// The first generation is active. The kernel stays as it is until an end was requested and all services
  /// that the program holds are let go, or the drain overran; then it stays in memory for ever.
  virtual void active(Kernel& kernel) = 0;
  /// What the server ended of; not called after a clean end.
  virtual void failed(const Status& cause) = 0;

 protected:
  ~Program() = default;
};

struct ServerArguments {
  std::string manifest_path;
  std::vector<Override> overrides;
  std::vector<std::string> default_plugin_path;  ///< searched after the manifest's own plugin_path
  std::string version;
  /// This process's, the program first: a reload tries new files with it in a process of its own. Empty: it
  /// does not.
  std::vector<std::string> command_line;
  Program* program = nullptr;  ///< null: the process is the server's own
};

/// Checks the manifest and the whole plugin graph, and calls no function of plugins but their checks of
/// options. \returns how many instances are enabled. Errors: as plan_generation(), with every problem found.
Result<size_t> check_server(const ServerArguments& arguments, LogSink& log);

/// Of run_server() inside a program: the drain overran.
inline constexpr int kExitOverrun = 3;

/// Serves until SIGTERM or SIGINT; SIGHUP applies the changed manifest. Runs everything on the calling
/// thread, which is the control thread. At most one call at a time in a process, because signals are the
/// process's. \returns the exit code: 0 clean, 1 failed start or drain overrun, 2 manifest errors. A drain
/// that overran ends the process here, without unwinding: a plugin's code may still be running. Inside a
/// program it serves until the program asks for the end, any number of servers at a time, and does not reload;
/// a drain that overran returns kExitOverrun, and the server with its arguments and the sink must stay.
int run_server(const ServerArguments& arguments, LogSink& log);

}  // namespace atl::kernel
