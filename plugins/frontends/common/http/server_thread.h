/// What the calls of one thread share. Only post() is for other threads.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <vector>

#include "frontends/common/http/body_buffer.h"
#include "frontends/common/http/request_counters.h"

namespace atl::frontends::http {

/// Something to be done on a server's thread. It is not to be posted again before on_posted() was called.
class Posted {
 public:
  virtual void on_posted() noexcept = 0;

  Posted* next_posted = nullptr;  ///< link of the thread's list

 protected:
  ~Posted() = default;
};

/// Bodies that wait to be used again; the last one used, whose memory is warm, comes first.
class BufferPool {
 public:
  /// An empty buffer, perhaps with memory.
  BodyBuffer take() noexcept;
  /// Keeps the buffer, unless it is large or enough are kept.
  void give(BodyBuffer buffer) noexcept;

 private:
  static constexpr size_t kLargestKept = size_t{4} << 20;
  static constexpr size_t kMostKeptBytes = size_t{32} << 20;
  static constexpr size_t kMostKept = 64;
  std::vector<BodyBuffer> kept_;
  size_t kept_bytes_ = 0;
};

class ServerThread {
 public:
  ServerThread() noexcept = default;
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  BufferPool buffers;
  RequestCounters counters;

  /// [any] What runs on this thread.
  virtual boost::asio::io_context& io() noexcept = 0;
  /// [any] Whether the calling thread is this one.
  bool is_current() const noexcept { return current_ == this; }
  /// [any] Runs item.on_posted() on this thread, in the order posted.
  void post(Posted& item) noexcept;
  /// [any] No thread is inside post() any more.
  bool nobody_posts() const noexcept { return posting_.load(std::memory_order_acquire) == 0; }

 protected:
  virtual ~ServerThread();
  /// [any] Has run_posted() called once on this thread, soon.
  virtual void wake() noexcept = 0;
  void run_posted() noexcept;
  void set_current() noexcept { current_ = this; }

 private:
  static thread_local const ServerThread* current_;
  std::atomic<Posted*> posted_{nullptr};  ///< the newest first
  std::atomic<uint32_t> posting_{0};
};

}  // namespace atl::frontends::http
