/// What generating needs of an engine: tokens in, logits out, and a memory of what was computed. llama.cpp is one; tests have one with
/// canned answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::llamacpp {

using Token = int32_t;

/// One token that a step computes.
struct StepToken {
  Token token = 0;
  int32_t position = 0;  ///< in its sequence, from 0 on
  int32_t sequence = 0;
  bool wants_logits = false;  ///< of the token that follows it
};

enum class StepEnd {
  kDone,
  kNoRoom,  ///< the memory is full; it is as before the step
  kFailed   ///< what the memory holds is not known any more
};

/// Computes steps of many sequences. Used by one thread at a time.
class TokenEngine {
 public:
  virtual ~TokenEngine() = default;
  /// \param step  not empty, at most step_tokens_max() tokens, those of one sequence in the order of their positions
  virtual StepEnd decode(std::span<const StepToken> step) noexcept = 0;
  /// Of the token that follows step[index] of the last decode(), which wanted them; valid until the next one. Empty: there are none.
  virtual std::span<const float> logits(size_t index) noexcept = 0;
  /// Forgets the tokens of a sequence from a position on. \returns false: it can only forget all of it, and has not.
  virtual bool forget(int32_t sequence, int32_t from) noexcept = 0;
  /// The first tokens of `from` are those of `to` as well, which is empty, without being computed again.
  virtual void share(int32_t from, int32_t to, int32_t tokens) noexcept = 0;
  /// Whether a part of a sequence can be kept or shared.
  virtual bool can_share() const noexcept = 0;

  virtual int32_t sequences() const noexcept = 0;
  virtual int32_t step_tokens_max() const noexcept = 0;
  /// Tokens that the memory holds, of all sequences together.
  virtual int32_t memory_tokens() const noexcept = 0;
};

/// The tokens of a model. Any number of threads may ask at once. [any]
class TokenVocabulary {
 public:
  virtual ~TokenVocabulary() = default;
  virtual int32_t size() const noexcept = 0;
  /// \param add_special  what the model wants at the beginning is added
  /// \param parse_special  texts of control tokens become these tokens
  /// Errors: INVALID_ARGUMENT the text is too long, or the tokenizer refuses it.
  virtual Result<std::vector<Token>> tokenize(std::string_view text, bool add_special,
                                              bool parse_special) const noexcept = 0;
  /// The bytes that the token stands for, which may be a part of a character. \param special  those of control tokens, too
  virtual std::string piece(Token token, bool special) const noexcept = 0;
  /// Whether the token ends the answer.
  virtual bool is_end(Token token) const noexcept = 0;
  /// All that do, ascending.
  virtual std::span<const Token> ends() const noexcept = 0;
};

/// What of all tokens may come next, by a grammar. Used by one thread at a time.
class TokenGrammar {
 public:
  virtual ~TokenGrammar() = default;
  virtual bool allows(Token token) noexcept = 0;
  /// Sets the logits of all that it does not allow to minus infinity.
  virtual void mask(std::span<float> logits) noexcept = 0;
  /// \returns false: the grammar does not go on
  virtual bool accept(Token token) noexcept = 0;
};

}  // namespace atl::llamacpp
