/// One infer call, from its body to the bytes that go to the client.
///
/// Binary tensors are read where they are in the body, which is kept until the request is released. Large
/// output tensors are allocated here and sent from the memory the backend filled. Bodies of more than
/// kLargeBytes to open or to parse, and answers of more to write or to compress, are given to the frontend's
/// LargeWork: the connection's thread has others to answer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontends/common/call/single_response.h"
#include "frontends/http/model_call.h"

namespace atl::frontends::http {

/// Taken from its thread's pool and given back to it.
class HttpInferCall final : public ModelCall {
 public:
  static HttpInferCall* make(ThreadContext& context, const Route& route);
  HttpInferCall(ThreadContext& context, const Route& route);
  virtual ~HttpInferCall();

  // --- Call ---
  void on_written() noexcept override;
  void on_gone() noexcept override;

  // --- Posted: the end of a wait, the answer, or this object itself, is brought to its thread ---
  void on_posted() noexcept override;

 private:
  /// Undoes the body's compression, if it is small. \returns false: it is large
  Result<bool> decompress_small() noexcept;
  /// \returns false: what is to be parsed is large
  Result<bool> has_small_json() const noexcept;
  Status parse_body(InferRequestReader& reader) noexcept;
  bool is_large(const Response& response) const noexcept;
  /// All of the answer, ready to be sent. [any]
  Status write_answer(Response& response) noexcept;
  void answer(Response& response) noexcept;
  Status write_reply(Response& response);
  Status compress_reply();
  /// The answer is complete: to the client with it. [any]
  void deliver() noexcept;
  void send_reply() noexcept;
  void free_tensors() noexcept;

  // --- CallSteps ---
  Result<bool> parse_request() noexcept override;
  Status read_large() noexcept override;
  void refuse(const Status& status) noexcept override;

  // --- ResponseReceiver ---
  void on_response(Response* response, uint32_t flags) noexcept override;
  void recycle() noexcept override;

  // Of the connection's thread.
  bool sent_ = false;
  Encoding body_encoding_ = Encoding::kIdentity;
  bool has_json_length_ = false;
  std::string json_length_;
  std::string binary_type_;  ///< as RequestHead's; of an answer the whole content type

  // The answer: made on the thread that answers, then handed to the connection's.
  SingleResponse single_;
  bool recycled_ = false;
  Encoding accepted_ = Encoding::kIdentity;
  Encoding encoding_ = Encoding::kIdentity;
  ReplyHead head_;
  std::string error_;
  std::vector<iovec> reply_;
  std::string small_tensors_;
  std::vector<void*> tensors_;  ///< memory that is being sent
  BodyBuffer compressed_;
};

}  // namespace atl::frontends::http
