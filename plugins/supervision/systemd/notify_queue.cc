#include "supervision/systemd/notify_queue.h"

namespace atl::supervision {
namespace {

/// With one more the oldest is dropped: the last word counts.
constexpr size_t kKeptMax = 16;

}  // namespace

void NotifyQueue::send(std::string message) {
  if (kept_.size() == kKeptMax) kept_.pop_front();
  kept_.push_back(std::move(message));
  send_kept();
}

void NotifyQueue::send_kept() {
  while (!kept_.empty()) {
    const Status sent = socket_.send(kept_.front());
    if (sent.code() == Code::kResourceExhausted) return;
    if (!sent.ok() && !std::exchange(failure_is_logged_, true))
      log_.warning("the service manager is not reached: NOTIFY_SOCKET: ", sent.message());
    kept_.pop_front();
  }
}

}  // namespace atl::supervision
