/// What the calls of one thread share. Only post() is for other threads.
#pragma once

#include <boost/asio/io_context.hpp>

#include "frontends/common/buffer_pool.h"
#include "frontends/common/http/request_counters.h"
#include "frontends/common/post_list.h"

namespace atl::frontends::http {

class ServerThread : public PostList {
 public:
  BufferPool buffers;
  RequestCounters counters;

  /// [any] What runs on this thread.
  virtual boost::asio::io_context& io() noexcept = 0;
  /// [any] Whether the calling thread is this one.
  bool is_current() const noexcept { return current_ == this; }

 protected:
  virtual ~ServerThread();
  void set_current() noexcept { current_ = this; }

 private:
  static thread_local const ServerThread* current_;
};

}  // namespace atl::frontends::http
