/// A thread with connections of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "frontends/common/access/last_callers.h"
#include "frontends/common/http/application.h"
#include "frontends/common/http/connection_count.h"
#include "frontends/common/http/server_options.h"
#include "frontends/common/http/server_thread.h"

namespace atl::frontends::http {

class Connection;

class ServingThread final : public ServerThread, private Timer, private TurnEnd {
 public:
  /// \param count  of all workers' connections; those that end here are taken from it
  ServingThread(const ServerContext& server, ConnectionCount& count);
  ~ServingThread() override;

  const ServerContext& server;
  TlsThread tls;  ///< of connections that have it
  LastCallers last_callers;

  /// Before all else. Errors: RESOURCE_EXHAUSTED.
  Status open() noexcept { return loop.open(); }
  /// [control] Starts the thread. May throw std::system_error.
  void start(const std::string& thread_name);
  /// [control] Answers from now on end their connections; at the deadline, of the host's clock, all are
  /// closed. \param exiting  idle ones are closed at once; else they have some time in which their next
  /// request is answered
  void drain(int64_t deadline_ns, bool exiting);
  /// [control] Closes every connection, now and later. Their calls may go on; the thread does.
  void close_connections();
  /// [any] Every connection is closed.
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// [control] Ends the thread. No call is left.
  void stop();

  /// [any] Runs a function on the thread, once.
  void run(std::function<void()> function);
  /// [any] Takes a connection that was counted already and does not block.
  void adopt(int fd);
  /// [any] The same for one that is too much: the one that has been idle for the longest time makes room; if
  /// none is idle, the new one is refused. \param decided  called on the worker's thread
  void adopt_over_limit(int fd, std::function<void()> decided);

  // --- the worker's own thread ---
  Handler& handler() noexcept { return *handler_; }
  /// It lives on until the end of the loop's turn.
  void remove(Connection& connection) noexcept;
  /// Whether this server ends because all of the process does.
  bool exiting() const noexcept { return stage() == Stage::kExiting; }
  /// Whether this server ends while another one takes over.
  bool leaving() const noexcept { return stage() == Stage::kLeaving; }
  /// While leaving: when connections are to be without further requests.
  int64_t leave_by_ns() const noexcept { return ending_.leave_by_ns; }

 private:
  enum class Stage { kServing, kLeaving, kExiting };

  /// What drain() says, on the host's clock.
  struct Ending {
    std::atomic<int64_t> leave_by_ns{0};
    std::atomic<int64_t> deadline_ns{0};
    std::atomic<int64_t> last_words_ns{0};  ///< when streams are cancelled, a little before that
  };

  Stage stage() const noexcept { return stage_.load(std::memory_order_acquire); }
  void take(int fd);
  /// To the log, now and then.
  void log_refusal();
  void start_tick();
  void on_time() noexcept override;
  void on_turn_end() noexcept override { gone_.clear(); }
  /// Calls this for each connection, which may close it.
  template <class Function>
  void for_each_connection(Function function);
  /// False: none is idle.
  bool close_longest_idle();

  ConnectionCount& count_;
  const std::unique_ptr<Handler> handler_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<std::shared_ptr<Connection>> gone_;  ///< in this turn
  // What drain() says holds at once: in the same turn of the loop a request may be answered before posts are run.
  std::atomic<Stage> stage_{Stage::kServing};
  Ending ending_;
  std::atomic<bool> closed_{false};
  bool has_cancelled_streams_ = false;
  int64_t unused_since_ns_ = 0;  ///< when unused buffers were freed last
  int64_t logged_full_ns_ = 0;   ///< when refusals were told last; 0: never
  std::thread thread_;
};

}  // namespace atl::frontends::http
