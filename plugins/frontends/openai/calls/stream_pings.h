/// Signs of life in streams that say nothing for long, so that nobody between takes them for dead: while a long prompt is
/// computed, or waits.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"

namespace atl::frontends::openai {

/// A stream that may be silent. While it is among StreamPings.
class PingedStream {
 public:
  /// Says something, unless it has since a moment. [executor]
  virtual void ping(int64_t silent_since_ns) noexcept = 0;

 protected:
  ~PingedStream() = default;
};

class StreamPings {
 public:
  /// \param executor  outlives all streams \param interval_ns  0: there are no pings
  StreamPings(const Clock& clock, SerialExecutor& executor, int64_t interval_ns)
      : clock_(clock), executor_(executor), interval_ns_(interval_ns) {}
  StreamPings(const StreamPings&) = delete;
  StreamPings& operator=(const StreamPings&) = delete;

  /// [any]
  void add(PingedStream& stream);
  /// Behind it ping() is not called any more. [any, without a lock that ping() takes]
  void remove(PingedStream& stream) noexcept;

 private:
  void wait();
  void ping_all() noexcept;

  const Clock& clock_;
  SerialExecutor& executor_;
  const int64_t interval_ns_;
  std::mutex mutex_;
  std::set<PingedStream*> streams_;
  bool waits_ = false;
};

}  // namespace atl::frontends::openai
