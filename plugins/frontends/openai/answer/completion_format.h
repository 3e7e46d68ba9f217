/// The answers of /v1/chat/completions and /v1/completions.
#pragma once

#include <string>

#include "frontends/openai/answer/answer_format.h"

namespace atl::frontends::openai {

class CompletionFormat final : public AnswerFormat {
 public:
  struct Head {
    std::string model;      ///< as the client named it
    int64_t created_s = 0;  ///< Unix time
    bool is_chat = false;
    bool has_logprobs = false;
    bool include_usage = false;  ///< of a stream
  };
  explicit CompletionFormat(Head head);
  virtual ~CompletionFormat() = default;

  std::string whole(std::span<const AnswerChoice> choices, const Usage& usage) override;
  void open(uint32_t choice, const Usage& so_far, std::string& out) override;
  void text(uint32_t choice, std::string_view text, const std::vector<TokenLogprob>& tokens,
            std::string& out) override;
  void call(uint32_t choice, uint32_t index, const ToolCall& call, std::string& out) override;
  void arguments(uint32_t choice, uint32_t index, std::string_view text, std::string& out) override;
  void close(uint32_t choice, const AnswerChoice& answer, std::string& out) override;
  void end(std::span<const AnswerChoice> choices, const Usage& usage, std::string& out) override;
  void failure(const ApiError& error, std::string& out) override;

 private:
  void begin_chunk(uint32_t choice, std::string& out) const;
  /// \param reason  empty: it goes on
  void end_chunk(const std::vector<TokenLogprob>& tokens, std::string_view reason, std::string& out) const;
  void append_logprobs(const std::vector<TokenLogprob>& tokens, std::string& out) const;
  void append_choice(uint32_t index, const AnswerChoice& choice, std::string& out) const;

  const Head head_;
  const std::string id_;
  std::string chunk_head_;  ///< of each event of the stream, up to its choices
};

}  // namespace atl::frontends::openai
