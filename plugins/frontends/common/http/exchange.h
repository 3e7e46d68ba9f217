/// One request and its answer, as the call between them sees them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/common/http/answer_writer.h"
#include "frontends/common/http/call.h"
#include "frontends/common/http/client/client_deadline.h"
#include "frontends/common/http/client/client_socket.h"
#include "frontends/common/http/incoming_request.h"
#include "frontends/common/http/request_reader.h"

namespace atl::frontends::http {

class Connection;
class ServingThread;

/// One after the other of one connection, which has it and reads what comes. When the request is complete its call
/// runs, and this is its Channel until the answer is in the socket. On the worker's thread.
class Exchange final : public Channel {
 public:
  /// \param connection  has this and the reader, the socket and the deadline \param worker  its worker
  Exchange(Connection& connection, ServingThread& worker, RequestReader& reader, ClientSocket& socket,
           ClientDeadline& deadline) noexcept;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  // --- the request ---
  IncomingRequest& request() noexcept { return request_; }
  /// Its head is judged. \returns false: no body is waited for, run() is due
  bool begin_body();
  /// The request is complete.
  void run();
  /// It cannot be read. \param was_judged  its head could
  void refuse(bool was_judged);

  // --- the answer ---
  AnswerWriter& writer() noexcept { return writer_; }
  /// Of the present request, or of the last one. \returns -1: its answer has not begun
  int http_status() const noexcept { return http_status_; }
  /// Goes on when the socket takes more.
  void write() noexcept;
  /// The connection is closed; the call learns that its client is gone.
  void drop() noexcept;
  enum class Ending { kSoon, kNow };
  /// The server's drain ends a running call. kSoon: it learns that its connection will be closed. kNow: an answer that has not
  /// begun is not waited for any longer; the call learns that its client is gone, and the client why.
  void end_call(Ending ending) noexcept;

  // --- Channel ---
  const RequestHead& head() const noexcept override { return reader_.head(); }
  void keep_head() noexcept override { keeps_head_ = true; }
  int64_t received_first_ns() const noexcept override { return request_.first_byte_ns(); }
  int64_t received_last_ns() const noexcept override { return request_.last_byte_ns(); }
  BodyBuffer take_body() noexcept override { return std::move(reader_.body()); }
  RequestCharge take_charge() noexcept override { return request_.take_charge(); }
  void answer(const ReplyHead& head, std::span<const iovec> body) noexcept override;
  void answer_text(ReplyHead head, std::string body) noexcept override;
  void begin_stream(const ReplyHead& head) noexcept override;
  void stream(std::string bytes) noexcept override;
  void end_stream() noexcept override;
  void cut() noexcept override;

 private:
  void answer_refusal(ReplyHead head, std::string_view text) noexcept;
  /// An answer begins: whether the connection goes on after it, and what is counted.
  void about_to_answer(int http_status, Framing framing) noexcept;
  /// False: the socket takes no more now, or the connection is closed.
  bool send() noexcept;
  void finish() noexcept;

  Connection& connection_;
  ServingThread& worker_;
  RequestReader& reader_;
  ClientSocket& socket_;
  ClientDeadline& deadline_;
  IncomingRequest request_;
  static constexpr int kUnanswered = -1;
  int http_status_ = kUnanswered;
  Call* call_ = nullptr;
  bool is_running_ = false;  ///< the request is complete and its answer is not
  bool keeps_head_ = false;  ///< of the present request, until its call ends
  AnswerWriter writer_;
};

}  // namespace atl::frontends::http
