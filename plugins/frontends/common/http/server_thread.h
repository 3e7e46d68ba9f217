/// What the calls of one thread share. Only post() and is_current() are for other threads.
#pragma once

#include "frontends/common/call/buffer_pool.h"
#include "frontends/common/http/request_counters.h"
#include "frontends/common/loop/event_loop.h"

namespace atl::frontends::http {

class ServerThread {
 public:
  explicit ServerThread(const Clock& clock) noexcept : loop(clock) {}
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  EventLoop loop;
  BufferPool buffers;
  RequestCounters counters;

  /// [any] Runs item.on_posted() on this thread.
  void post(Posted& item) noexcept { loop.post(item); }
  /// [any] Whether the calling thread is this one.
  bool is_current() const noexcept { return loop.is_current(); }

 protected:
  ~ServerThread() = default;
};

}  // namespace atl::frontends::http
