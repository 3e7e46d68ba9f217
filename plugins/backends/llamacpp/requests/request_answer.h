/// The answer to one request, from pieces of text to responses.
#pragma once

#include <memory>
#include <string>

#include "atoll/request/request.h"
#include "atoll/request/statistics.h"
#include "backends/llamacpp/loop/generation.h"
#include "backends/llamacpp/requests/prompt_reader.h"

namespace atl::llamacpp {

/// Answers and releases its request once.
class RequestAnswer final : public AnswerPort {
 public:
  /// \param request  is the object's from now on
  /// \param vocabulary, reporter  outlive the object; reporter may be null
  RequestAnswer(Request& request, const PromptRequest& prompt, const TokenVocabulary& vocabulary,
                InferenceReporter* reporter, int64_t now_ns);

  Status ended(int64_t now_ns) const noexcept override;
  bool streams() const noexcept override { return streams_; }
  void computing(int64_t now_ns) noexcept override {
    times_.compute_start_ns = now_ns;
    uncharged_prompt_ = prompt_tokens_;
  }
  void send(AnswerPiece piece, int64_t now_ns) noexcept override;
  void fail(Status failure, uint32_t tokens, int64_t now_ns) noexcept override;

  /// The only response of a request that asks for its prompt alone.
  static Status answer_prompt(Request& request, const PromptRequest& prompt, Response& response);

 private:
  Status fill(Response& response, const AnswerPiece& piece);
  bool wants(std::string_view output, bool flag) const noexcept;
  std::string logprobs_json(const AnswerPiece& piece) const;
  void charge(Response& response, uint32_t generated) noexcept;
  void release(const Status& end, int64_t now_ns) noexcept;

  Request* request_;  ///< null: it is answered
  ResponseSink* sink_;
  const TokenVocabulary& vocabulary_;
  InferenceReporter* reporter_;
  std::string prompt_text_;  ///< in front of the first piece
  uint32_t prompt_tokens_;
  uint32_t uncharged_prompt_ = 0;  ///< tokens of the prompt that is computed and that no response has told of
  bool counts_tokens_;             ///< somebody wants to be told what responses have taken
  bool streams_, names_outputs_;
  bool returns_finish_reason_, returns_input_tokens_, returns_output_tokens_, returns_logprobs_;
  ExecutionTimes times_;
};

}  // namespace atl::llamacpp
