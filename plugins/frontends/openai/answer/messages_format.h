/// The answers of /v1/messages.
#pragma once

#include <string>

#include "frontends/openai/answer/answer_format.h"

namespace atl::frontends::openai {

class MessagesFormat final : public AnswerFormat {
 public:
  /// \param model  as the client named it
  explicit MessagesFormat(std::string model);
  virtual ~MessagesFormat() = default;

  ErrorJson error_json() const noexcept override { return &messages_error_json; }
  std::string whole(std::span<const AnswerChoice> choices, const Usage& usage) override;
  void open(uint32_t choice, const Usage& so_far, std::string& out) override;
  void text(uint32_t choice, std::string_view text, const std::vector<TokenLogprob>& tokens,
            std::string& out) override;
  void call(uint32_t choice, uint32_t index, const ToolCall& call, std::string& out) override;
  void arguments(uint32_t choice, uint32_t index, std::string_view text, std::string& out) override;
  void close(uint32_t choice, const AnswerChoice& answer, std::string& out) override;
  void end(std::span<const AnswerChoice> choices, const Usage& usage, std::string& out) override;
  void failure(const ApiError& error, std::string& out) override;
  std::string ping() const override { return "event: ping\ndata: {\"type\":\"ping\"}\n\n"; }

 private:
  enum class Block { kNone, kText, kTool };

  void append_head(std::string& out) const;
  void begin_block(Block block, std::string_view content, std::string& out);
  void end_block(std::string& out);

  const std::string id_, model_;
  Block block_ = Block::kNone;  ///< that is open
  size_t blocks_ = 0;           ///< how many have begun
};

}  // namespace atl::frontends::openai
