/// Takes connections for the gRPC server.
#pragma once

#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "frontends/common/sockets/connection_limit.h"
#include "frontends/common/sockets/listening_socket.h"
#include "frontends/common/sockets/opening.h"

namespace atl::frontends::grpc_frontend {

/// A listener of our own, on a thread of its own, in place of gRPC's: that of gRPC 1.51 gives up for good
/// when the process has no descriptor left once (CVE-2023-4785), takes as many connections as come, and
/// cannot hand its socket to the next instance. All functions [control] unless they say otherwise.
class ConnectionAcceptor {
 public:
  using Target = grpc::experimental::ExternalConnectionAcceptor;

  ConnectionAcceptor(Log& log, ConnectionLimit limit) : log_(log), limit_(limit) {}
  ~ConnectionAcceptor() { stop(); }

  /// Connections wait from here on. \returns the bound port. Errors: as listen_on().
  Result<int> listen(const ListenAddress& address, const ListenOptions& options);
  /// Takes them, for a server that runs; a socket that opens later is opened when that is due. May throw
  /// std::system_error.
  void start(std::unique_ptr<Target> target, Opening opening);
  /// [any] Takes no more; the socket is closed when this returns.
  void close();
  /// Takes no more; may be called again.
  void stop();

  /// [any] Connections that gRPC has not closed yet.
  size_t open_connections();

 private:
  // These run on the thread.
  void open_if_due();
  void wait();
  void accept_all();
  void take(int fd);
  void pause(int error);

  bool has_room();
  size_t sweep();

  Log& log_;
  const ConnectionLimit limit_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  boost::asio::ip::tcp::acceptor acceptor_{io_};
  struct Listener {
    ListenerNote note;
    Opening opening;
    int port = 0;
  };
  Listener listener_;
  boost::asio::steady_timer timer_{io_};
  std::unique_ptr<Target> target_;
  std::thread thread_;
  int64_t next_sweep_ns_ = 0;
  int64_t logged_full_ns_ = 0;
  bool paused_ = false;

  std::mutex mutex_;
  /// By descriptor: the inode of the socket that gRPC was given under that number. gRPC does not say when it
  /// closes one; the number then means nothing, or something else.
  std::vector<ino_t> given_;
  size_t open_ = 0;  ///< at most so many of them are open
};

}  // namespace atl::frontends::grpc_frontend
