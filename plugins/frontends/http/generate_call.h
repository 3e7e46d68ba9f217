/// One generate or generate_stream call.
///
/// Responses are made into text on the thread that brings them and go to the client from the connection's.
/// What a slow client has not taken waits here and in the connection, up to max_stream_backlog_bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontends/http/model_call.h"
#include "frontends/http/outbox.h"

namespace atl::frontends::http {

class GenerateCall final : public ModelCall {
 public:
  GenerateCall(ThreadContext& context, const Route& route);

  // --- Call ---
  void on_written() noexcept override;
  void on_gone() noexcept override;
  void on_closing_soon() noexcept override {
    if (streams_ && !final_seen_here_) infer_.request.cancellation.cancel();
  }
  void on_stream_written(size_t bytes) noexcept override;

  // --- Posted ---
  void on_posted() noexcept override;

 private:
  virtual ~GenerateCall() = default;

  void drop_body() noexcept;
  /// The response as the client is to see it. \returns the HTTP status it would have as the only one
  int write_response(Response& response, std::string* text) noexcept;
  /// Takes the text to the connection's thread. [model]
  void push(std::string text, uint32_t marks) noexcept;
  void cut() noexcept;
  /// Gives what was pushed to the connection. [connection]
  void flush() noexcept;
  void answer_stream(std::vector<std::string> texts, bool end) noexcept;
  uint32_t retry_after_ms() const noexcept { return http_status_ == 200 ? 0 : infer_.request.retry_after_ms; }

  // --- CallSteps ---
  Result<bool> parse_request() noexcept override;
  Status read_large() noexcept override;
  Status read_head() noexcept override;
  void refuse(const Status& status) noexcept override;

  // --- ResponseReceiver ---
  Status check_output(const OutputTensor& output, uint64_t size_bytes) noexcept override;
  void on_response(Response* response, uint32_t flags) noexcept override;
  void recycle() noexcept override;

  const bool streams_;

  // Of the connection's thread.
  bool begun_ = false;  ///< the stream's head was written
  bool stream_closed_ = false;
  bool final_seen_here_ = false;

  // Of the thread that brings responses.
  uint32_t responses_ = 0;
  bool dropping_ = false;  ///< too much waits: nothing more is sent
  std::string only_;       ///< the first response of a call that does not stream
  int http_status_ = 200;  ///< of the first response; set before that is pushed

  Outbox outbox_;
};

}  // namespace atl::frontends::http
