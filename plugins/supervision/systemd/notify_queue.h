/// Messages to the service manager, in their order, also where its queue is full for a while.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "atoll/core/log.h"
#include "supervision/systemd/notify_socket.h"

namespace atl::supervision {

/// A receiver that is not there costs one line in the log and nothing else. Not for two threads at a time.
class NotifyQueue {
 public:
  NotifyQueue(NotifySocket socket, Log& log) : socket_(std::move(socket)), log_(log) {}

  /// Sends a message, or keeps it for later.
  void send(std::string message);
  /// Sends what was kept, as far as the receiver takes it now.
  void send_kept();
  bool is_empty() const noexcept { return kept_.empty(); }

 private:
  NotifySocket socket_;
  Log& log_;
  std::deque<std::string> kept_;
  bool failure_is_logged_ = false;
};

}  // namespace atl::supervision
