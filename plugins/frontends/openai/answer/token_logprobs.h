/// The log probabilities of an answer's tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::frontends::openai {

struct TokenChance {
  std::string token;
  double logprob = 0;
  std::string bytes;
};

struct TokenLogprob {
  TokenChance chosen;
  std::vector<TokenChance> top;
  uint64_t text_offset = 0;  ///< of its first character in the answer
};

/// Reads a model's output: [{"token":..., "logprob":..., "bytes":[...], "top":[...]}, ...]. Errors: it is none.
Result<std::vector<TokenLogprob>> read_logprobs(std::string_view json);

/// Holds tokens back until the text that they stand for goes out.
class TokenQueue {
 public:
  void add(std::vector<TokenLogprob> tokens);
  /// Those whose text is all among the first bytes of the answer.
  std::vector<TokenLogprob> take(uint64_t bytes);
  /// The end: those that remain. \param bytes  what begins behind so many is cut off
  std::vector<TokenLogprob> finish(uint64_t bytes);

 private:
  struct Waiting {
    TokenLogprob token;
    uint64_t begin, end;  ///< of its text, in bytes
  };
  std::deque<Waiting> waiting_;
  uint64_t bytes_ = 0, characters_ = 0;  ///< of all that were added
};

/// [{"token":..., "logprob":..., "bytes":[...], "top_logprobs":[...]}, ...]
void append_token_list(std::string& out, const std::vector<TokenLogprob>& tokens);
/// Of a chat: {"content":[...]}
void append_chat_logprobs(std::string& out, const std::vector<TokenLogprob>& tokens);
/// Of a completion: {"tokens":[...],"token_logprobs":[...],"top_logprobs":[...],"text_offset":[...]}
void append_completion_logprobs(std::string& out, const std::vector<TokenLogprob>& tokens);

}  // namespace atl::frontends::openai
