/// How an answer is written: one class for each API.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/openai/answer/token_logprobs.h"
#include "frontends/openai/api_error.h"

namespace atl::frontends::openai {

struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t completion_tokens = 0;
  uint64_t cached_tokens = 0;  ///< of the prompt
};

struct ToolCall {
  std::string id, name;
  std::string arguments;  ///< JSON, as the model wrote it
};

/// One answer to one prompt. In a stream text, arguments and most tokens are not kept.
struct AnswerChoice {
  std::string text;
  std::vector<ToolCall> calls;
  std::vector<TokenLogprob> tokens;
  std::string finish_reason;  ///< "stop", "length", "tool_calls", ...
  std::string stop;           ///< the stop string that ended it; empty: none
};

/// Writes one answer, whole or as a stream of events. Functions of a stream append to `out` what goes to the client; they are
/// called one at a time.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  virtual std::string whole(std::span<const AnswerChoice> choices, const Usage& usage) = 0;
  /// How errors are written that come before the answer.
  virtual ErrorJson error_json() const noexcept { return &openai_error_json; }

  // --- a stream ---
  /// The first of a choice. \param so_far  what is known of the usage
  virtual void open(uint32_t choice, const Usage& so_far, std::string& out) = 0;
  virtual void text(uint32_t choice, std::string_view text, const std::vector<TokenLogprob>& tokens,
                    std::string& out) = 0;
  /// A call of a tool begins; its arguments follow. \param index  from 0 on, without gaps
  virtual void call(uint32_t choice, uint32_t index, const ToolCall& call, std::string& out) = 0;
  virtual void arguments(uint32_t choice, uint32_t index, std::string_view text, std::string& out) = 0;
  virtual void close(uint32_t choice, const AnswerChoice& answer, std::string& out) = 0;
  /// The last of all.
  virtual void end(std::span<const AnswerChoice> choices, const Usage& usage, std::string& out) = 0;
  /// Says nothing, in a stream that is silent for long.
  virtual std::string ping() const { return ": ping\n\n"; }
  /// In place of end().
  virtual void failure(const ApiError& error, std::string& out) = 0;
};

}  // namespace atl::frontends::openai
