#include "frontends/openai/calls/stream_pings.h"

namespace atl::frontends::openai {

void StreamPings::add(PingedStream& stream) {
  if (interval_ns_ == 0) return;
  std::lock_guard lock(mutex_);
  streams_.insert(&stream);
  if (!waits_) wait();
}

void StreamPings::remove(PingedStream& stream) noexcept {
  if (interval_ns_ == 0) return;
  std::lock_guard lock(mutex_);
  streams_.erase(&stream);
}

void StreamPings::wait() {
  waits_ = true;
  executor_.post_at(clock_.now_ns() + interval_ns_ / 2, make_task([this] { ping_all(); }));
}

void StreamPings::ping_all() noexcept {
  std::lock_guard lock(mutex_);
  waits_ = false;
  const int64_t since_ns = clock_.now_ns() - interval_ns_ / 2;
  for (PingedStream* stream : streams_) stream->ping(since_ns);
  if (!streams_.empty()) wait();
}

}  // namespace atl::frontends::openai
