/// One infer call, from its body to the bytes that go to the client.
///
/// Binary tensors are read where they are in the body, which is kept until the request is released. Large
/// output tensors are allocated here and sent from the memory the backend filled. Bodies of more than
/// kLargeBytes to open or to parse, and answers of more to write or to compress, are given to the frontend's
/// LargeWork: the connection's thread has others to answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "atoll/gate.h"
#include "codec/json_output.h"
#include "codec/reply_form.h"
#include "common/unary_infer_context.h"
#include "frontends/common/http/body_buffer.h"
#include "frontends/common/http/call.h"
#include "route_table.h"
#include "thread_context.h"

namespace atl::frontends::http {

/// Taken from its thread's pool and given back to it.
class InferCall final : public UnaryInferContext, public Call, public Posted {
 public:
  static InferCall* make(ThreadContext& context, const Route& route);
  explicit InferCall(ThreadContext& context);
  ~InferCall() override;

  // --- Call ---
  void run(Channel& channel) noexcept override;
  void on_written() noexcept override;
  void on_gone() noexcept override;

  // --- Posted: the model, the answer, or this object itself, is brought to its thread ---
  void on_posted() noexcept override;

 private:
  /// \returns false: it waits for the model
  Result<bool> find() noexcept;
  /// The model is there, or will not be: reads the body, then as hand_over().
  void go_on(Status status) noexcept;
  /// The body is read, or can not be: hands over, or answers why not. The call may be over afterwards, and
  /// this object in its next use.
  void hand_over(Status status) noexcept;
  /// What the head says about the request. On failure nothing was handed over.
  Status prepare() noexcept;
  /// \returns false: it is read elsewhere, and on_posted() goes on
  Result<bool> read_body() noexcept;
  /// [large work]
  void read_large_body() noexcept;
  Status parse_body(InferRequestReader& reader) noexcept;
  Status forward_headers() noexcept;
  void start_trace() noexcept;
  bool is_large(const Response& response) const noexcept;
  /// All of the answer, ready to be sent. [any]
  Status write_answer(Response& response) noexcept;
  void finish(Status written) noexcept;
  Status write_reply(Response& response) noexcept;
  Status compress_reply() noexcept;
  /// The answer is complete: to the client with it. [any]
  void deliver() noexcept;
  void send_reply() noexcept;
  /// The connection needs nothing of this object any more.
  void end_exchange() noexcept;
  void free_tensors() noexcept;

  // --- UnaryInferContext ---
  Status allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept override;
  void drop_output(OutputTensor& output) noexcept override;
  bool answer_later(Response& response) noexcept override;
  void answer(Response& response) noexcept override;
  void answer_error(const Status& status) noexcept override;
  void recycle() noexcept override;
  void about_to_wait() noexcept override;
  void model_came(Status status) noexcept override;

  ThreadContext& context_;
  Pass pass_;

  // Of the connection's thread.
  Channel* channel_ = nullptr;  ///< null: the client has gone
  Route route_;                 ///< valid while run() runs or the request waits for its model, as is the head
  bool cancelling_ = false;     ///< inside cancel(): the end of the exchange has to wait
  bool end_wanted_ = false;
  bool sent_ = false;
  std::optional<Status> came_;  ///< how the wait for the model, or for the body to be read, ended
  bool reading_ = false;        ///< it is the body
  Encoding body_encoding_ = Encoding::kIdentity;
  bool has_json_length_ = false;
  std::string json_length_;
  BodyBuffer body_;
  InferParts parts_;

  // The answer: made on the thread that answers, then handed to the connection's.
  bool recycled_ = false;
  Encoding accepted_ = Encoding::kIdentity;
  Encoding encoding_ = Encoding::kIdentity;
  ReplyHead head_;
  JsonOutput json_;
  std::string error_;
  std::vector<iovec> reply_;
  std::string small_tensors_;
  std::vector<void*> tensors_;  ///< memory that is being sent
  BodyBuffer compressed_;
};

}  // namespace atl::frontends::http
