/// One client's connection: requests in, answers out, one after the other in the order they came.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/common/call/access_check.h"
#include "frontends/common/http/application.h"
#include "frontends/common/http/call.h"
#include "frontends/common/http/request_reader.h"
#include "frontends/common/http/server_thread.h"

namespace atl::frontends::http {

class ServingThread;

/// Lives on its worker's thread. Reading goes on while a call runs, into what room there is, so that a
/// client's going away is noticed. A client that has ended its sending side gets answers to what it sent.
class Connection final : public Channel,
                         public Posted,
                         public std::enable_shared_from_this<Connection>,
                         private Watcher {
 public:
  /// \param fd  a socket that does not block; becomes this object's
  Connection(ServingThread& worker, int fd);
  ~Connection();

  /// Where the worker keeps it.
  size_t worker_index = 0;

  void start() noexcept;
  /// Whether it may be closed for a newer one: nothing of a request is there, or nothing is being answered.
  bool may_make_room() noexcept;
  /// When the time for what it waits for is over.
  int64_t deadline_ns() const noexcept { return deadline_ns_; }
  /// Closes the connection if the time for what it waits for is over.
  void tick(int64_t now_ns) noexcept;
  /// The worker exits or leaves. Exiting: closes it now if no call runs, else after the present answer.
  void drain() noexcept;
  /// At once; a running call learns that its client is gone.
  void close() noexcept;

  // --- Channel ---
  const RequestHead& head() const noexcept override { return reader_.head(); }
  void keep_head() noexcept override { keeps_head_ = true; }
  int64_t received_first_ns() const noexcept override { return first_byte_ns_; }
  int64_t received_last_ns() const noexcept override { return last_byte_ns_; }
  BodyBuffer take_body() noexcept override;
  RequestCharge take_charge() noexcept override { return std::move(charge_); }
  void answer(const ReplyHead& head, std::span<const iovec> body) noexcept override;
  void answer_text(ReplyHead head, std::string body) noexcept override;
  void begin_stream(const ReplyHead& head) noexcept override;
  void stream(std::string bytes) noexcept override;
  void end_stream() noexcept override;
  void cut() noexcept override { close(); }

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
  /// What is decided from the head alone is decided.
  bool begin_body();
  bool advance_body();
  /// Counts what has come of the body. False: all requests would take too much memory; the body is dropped,
  /// what comes of it is read over, and the answer says why.
  bool count_body() noexcept;
  void drop_body(const Status& reason) noexcept;
  void start_call();
  void refuse();
  void answer_refusal(ReplyHead head, std::string_view text) noexcept;
  // --- Watcher ---
  void on_ready(uint32_t events) noexcept override;
  void watch_for(uint32_t events) noexcept;
  /// Whether there is use and room for what the client sends.
  bool wants_input() noexcept;
  /// Has on_readable() called when there is something.
  void read() noexcept;
  void on_readable() noexcept;
  /// \returns bytes received; 0: none are there, or ever will be; -1: the connection is closed.
  ssize_t receive(std::span<char> space) noexcept;
  /// Whether a request, or its first bytes, have come behind the present one.
  bool next_is_here() noexcept;
  void begin_answer(const ReplyHead& head, Framing framing);
  void write() noexcept;
  /// False: the socket takes no more now, or the connection is closed.
  bool write_parts() noexcept;
  void queue_stream();
  void finish_answer() noexcept;
  void linger() noexcept;

  // --- times; connection_times.cc ---
  int64_t now_ns() const noexcept;
  void expect_by(int64_t now, int64_t timeout_ns) noexcept;
  void expect_request() noexcept;
  /// It is the application's turn.
  void expect_answer(int64_t now) noexcept;
  /// It is not the client's turn, or not known to be: then await_progress() begins its time.
  void expect_nothing() noexcept;
  void await_progress() noexcept;
  /// The client has sent or taken so many bytes; it has time for more if these were enough.
  void progress(size_t bytes) noexcept;
  /// Asks a client that has ended its sending side whether it still reads.
  void probe() noexcept;
  bool send_continue() noexcept;

  ServingThread& worker_;
  int fd_;  ///< -1: closed
  uint32_t watched_ = EPOLLIN;
  RequestReader reader_;
  RequestCharge charge_;  ///< for the body, until the call takes it
  State state_ = State::kHead;
  bool advancing_ = false;
  bool waiting_to_write_ = false;
  bool input_ended_ = false;  ///< the client sends nothing more
  bool probed_ = false;       ///< during the present call
  size_t sent_ahead_ = 0;     ///< bytes of the answer's head that the probe was
  bool head_begun_ = false;   ///< the first byte of a request is there
  bool keep_alive_ = true;    ///< after the present answer
  int version_ = 11;          ///< of the present request; it may be asked for after the head has gone
  bool no_body_ = false;      ///< the present answer is to HEAD
  int64_t deadline_ns_ = 0;
  size_t progress_bytes_ = 0;  ///< since the deadline was set
  int64_t first_byte_ns_ = 0;
  int64_t last_byte_ns_ = 0;
  uint64_t bytes_at_first_ = 0;  ///< what the reader had received when the first one was seen

  AccessCheck access_;
  std::shared_ptr<Connection> asking_;  ///< itself, until the answer is there

  Verdict verdict_;
  Call* call_ = nullptr;
  bool keeps_head_ = false;  ///< of the present request, until its call ends
  bool answering_ = false;   ///< an answer was begun and is not finished
  std::string cors_lines_;   ///< of every answer to the present request
  std::string reply_head_;
  std::string own_body_;
  std::vector<iovec> parts_;
  size_t part_ = 0;  ///< first one that is not written entirely
  bool streaming_ = false;
  bool stream_ended_ = false;
  bool stream_chunked_ = false;
  size_t stream_data_bytes_ = 0;         ///< of the call's, in what is being written
  std::vector<std::string> stream_out_;  ///< being written
  std::deque<std::string> stream_next_;  ///< waits for it
};

}  // namespace atl::frontends::http
