/// One client's connection: requests in, answers out, one after the other in the order they came.
#pragma once

#include <cstdint>
#include <memory>

#include "frontends/common/access/access_check.h"
#include "frontends/common/http/client/client_deadline.h"
#include "frontends/common/http/client/client_socket.h"
#include "frontends/common/http/exchange.h"
#include "frontends/common/http/request_reader.h"
#include "frontends/common/http/server_thread.h"

namespace atl::frontends::http {

class ServingThread;

/// Reads requests, and has each one judged, asked about, and answered by its Exchange. Lives on its worker's thread.
/// Reading goes on while a call runs, into what room there is, so that a client's going away is noticed. A client
/// that has ended its sending side gets answers to what it sent.
class Connection final : public Posted, public std::enable_shared_from_this<Connection>, private Watcher {
 public:
  /// \param fd  a socket that does not block; becomes this object's
  Connection(ServingThread& worker, int fd);
  ~Connection() = default;

  /// Where the worker keeps it.
  size_t worker_index = 0;

  void start() noexcept;
  /// Whether it may be closed for a newer one: nothing of a request is there, or nothing is being answered.
  bool may_make_room() noexcept;
  /// When the time for what it waits for is over.
  int64_t deadline_ns() const noexcept { return deadline_.ns(); }
  /// Closes the connection if the time for what it waits for is over.
  void tick(int64_t now_ns) noexcept;
  /// The worker exits or leaves. Exiting: closes it now if no call runs, else after the present answer.
  void drain() noexcept;
  /// A drain ends: it will be closed soon, or is closed now, and whoever waits for an answer is told.
  void end(Exchange::Ending ending) noexcept;
  /// At once; a running call learns that its client is gone.
  void close() noexcept;

  // --- its exchange ---
  /// Whether a request, or its first bytes, have come behind the present one.
  bool next_is_here() noexcept;
  /// All of the answer is in the socket.
  void on_answered() noexcept;

  /// What is kept of a request's head to identify its caller anew, while its answer is a stream.
  struct Credential {
    std::string authorization;
    std::string certificate;  ///< as a proxy has forwarded it
  };

  // --- Posted: it is known whether the call may be made ---
  void on_posted() noexcept override;

 private:
  enum class State { kHead, kAccess, kBody, kCall, kLinger, kClosed };

  /// Goes on as far as the bytes that are here allow.
  void advance() noexcept;
  bool advance_head();
  /// Asks whether the call may be made. Until there is an answer nothing is read. \returns as advance_head()
  bool ask_access(const AccessPoint& access);
  bool take_access();
  /// Of a stream under way: whether its caller may still have it.
  bool may_go_on() noexcept;
  /// What is decided from the head alone is decided.
  bool begin_body();
  bool advance_body();
  void start_call();
  /// The request cannot be read. \param was_judged  its head could
  void refuse(bool was_judged);
  // --- Watcher ---
  void on_ready(uint32_t events) noexcept override;
  /// Whether there is use and room for what the client sends.
  bool wants_input() noexcept;
  /// Has on_readable() called when there is something.
  void read() noexcept;
  void on_readable() noexcept;
  void on_input_end() noexcept;
  void linger() noexcept;

  ServingThread& worker_;
  ClientSocket socket_;
  ClientDeadline deadline_;
  RequestReader reader_;
  Exchange exchange_;
  State state_ = State::kHead;
  bool advancing_ = false;

  AccessCheck access_;
  Credential credential_;               ///< of the present request, if there are identities
  std::shared_ptr<Connection> asking_;  ///< itself, until the answer is there
};

}  // namespace atl::frontends::http
