/// One generate or generate_stream call.
///
/// Responses are made into text on the thread that brings them and go to the client from the connection's.
/// What a slow client has not taken waits here and in the connection, up to max_stream_backlog_bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "atoll/gate.h"
#include "codec/json_output.h"
#include "codec/reply_form.h"
#include "common/infer_context.h"
#include "frontends/common/http/body_buffer.h"
#include "frontends/common/http/call.h"
#include "route_table.h"
#include "thread_context.h"

namespace atl::frontends::http {

class GenerateCall final : public InferContext, public Call, public Posted {
 public:
  GenerateCall(ThreadContext& context, const Route& route);

  // --- Call ---
  void run(Channel& channel) noexcept override;
  void on_written() noexcept override;
  void on_gone() noexcept override;
  void on_stream_written(size_t bytes) noexcept override;

  // --- Posted ---
  void on_posted() noexcept override;

 private:
  ~GenerateCall() override = default;

  /// \returns false: it waits for the model
  Result<bool> find() noexcept;
  /// The model is there, or will not be. The call may be over afterwards, and this object with it.
  void go_on(Status status) noexcept;
  /// \returns false: the body is read elsewhere, and on_posted() goes on with hand_over()
  Result<bool> read_body() noexcept;
  /// [large work]
  void read_large_body() noexcept;
  void hand_over(Status status) noexcept;
  Status prepare() noexcept;
  /// The response as the client is to see it. \returns the HTTP status it would have as the only one
  int write_response(Response& response, std::string* text) noexcept;
  /// Takes the text to the connection's thread. [model]
  void push(std::string text, bool end) noexcept;
  void cut() noexcept;
  /// Gives what was pushed to the connection. [connection]
  void flush() noexcept;
  void answer_stream(std::vector<std::string> texts, bool end) noexcept;
  void end_if_over() noexcept;
  uint32_t retry_after_ms() const noexcept { return http_status_ == 200 ? 0 : request.retry_after_ms; }

  // --- InferContext ---
  Status allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept override;
  void drop_output(OutputTensor& output) noexcept override;
  void on_response(Response* response, uint32_t flags) noexcept override;
  void recycle() noexcept override;
  void about_to_wait() noexcept override;
  void model_came(Status status) noexcept override;

  ThreadContext& context_;
  Pass pass_;
  const bool streams_;

  // Of the connection's thread.
  Channel* channel_ = nullptr;  ///< null: the client has gone, or has all it will get
  Route route_;                 ///< valid while run() runs or the request waits for its model, as is the head
  BodyBuffer body_;             ///< until it is read
  std::optional<Status> came_;  ///< how the wait for the model, or for the body to be read, ended
  bool reading_ = false;        ///< it is the body
  bool begun_ = false;          ///< the stream's head was written
  bool stream_closed_ = false;
  bool exchange_over_ = false;  ///< the connection needs nothing any more
  bool final_seen_here_ = false;
  bool cancelling_ = false;

  // Of the thread that brings responses.
  InferParts parts_;
  JsonOutput json_;
  uint32_t responses_ = 0;
  uint64_t output_bytes_ = 0;  ///< charged for outputs of the response that is being made
  bool dropping_ = false;      ///< too much waits: nothing more is sent
  std::string only_;           ///< the first response of a call that does not stream

  std::atomic<uint64_t> backlog_bytes_{0};

  std::mutex mutex_;  ///< guards what follows
  std::vector<std::string> pending_;
  int http_status_ = 200;  ///< of the first response
  bool ended_ = false;
  bool cut_ = false;
  bool posted_ = false;
};

}  // namespace atl::frontends::http
