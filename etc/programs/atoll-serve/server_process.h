/// The server as a child of this process, and the signals that go to it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl::serve {

/// Signals that would end this process, and those of its children, as something to read. From its start to the
/// end of the process they are blocked, so that none ends it before it has cleaned up.
class SignalFeed {
 public:
  /// Errors: UNAVAILABLE the system refuses.
  static Result<SignalFeed> open();
  int descriptor() const noexcept { return feed_.get(); }
  /// The next signal's number; 0: there was none in the time. \param timeout_ms  -1: any time
  int next(int timeout_ms) const noexcept;

 private:
  explicit SignalFeed(FileDescriptor feed) noexcept : feed_(std::move(feed)) {}
  FileDescriptor feed_;
};

/// Ends with this object, and with this process however that ends.
class ServerProcess {
 public:
  /// Its standard input is empty; it is in a process group of its own, so that a Ctrl-C comes to it by this process
  /// alone. To be called by the main thread. Errors: UNAVAILABLE no process can be made. \param arguments  the program's
  /// path first; where it cannot be run, the process ends with 127 after a line on standard error
  static Result<ServerProcess> start(const std::vector<std::string>& arguments);
  ServerProcess(ServerProcess&& other) noexcept : process_(std::exchange(other.process_, 0)) {}
  ServerProcess& operator=(ServerProcess&&) = delete;
  ~ServerProcess();

  void send(int signal_number) const noexcept;
  /// The exit code, 128 + N if signal N has ended it; null: it still runs.
  std::optional<int> poll() noexcept;

 private:
  explicit ServerProcess(pid_t process) noexcept : process_(process) {}
  pid_t process_;  // 0: it has ended
};

}  // namespace atl::serve
