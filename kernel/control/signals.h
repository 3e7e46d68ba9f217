/// The signals of the process, turned into flags that the control loop looks at.
#pragma once

#include <cstdint>

namespace atl::kernel {

/// SIGTERM and SIGINT ask to end, SIGHUP asks to reload, SIGPIPE is ignored; the previous dispositions come
/// back with the destructor. A second SIGTERM or SIGINT ends the process in the handler itself, with 128 +
/// its number, so that it works while the control thread is stuck. Handlers, not a mask, because a mask would
/// be inherited by every thread and child process. One at a time.
class SignalWatch {
 public:
  /// \param wake_descriptor  an eventfd that is written to when a signal came.
  explicit SignalWatch(int wake_descriptor);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch();

  bool end_requested() const noexcept;
  /// When it was, on runtime::SystemClock; 0: it was not. [any]
  int64_t end_requested_ns() const noexcept;
  bool reload_requested() const noexcept;
  /// True once for any number of SIGHUPs since the last call.
  bool take_reload_request() noexcept;
};

}  // namespace atl::kernel
